/*
 * The one way in which the library reports a failure: a status, and a sentence
 * in a buffer of the calling thread, which is all the global state there is.
 */
#ifndef BH_BASE_ERROR_H
#define BH_BASE_ERROR_H

#include "bulkhash/bulkhash.h"

/* Writes the sentence and answers `status`, so that a function can end with
 * `return bh__fail(BH_ERR_..., "...")`. A sentence too long is cut. */
bh_status bh__fail(bh_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#endif
