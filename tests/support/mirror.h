/*
 * A device's primitives for tests that have their arrays on the host: each call copies the arrays
 * to the device, runs there, and copies what may have been written back. So one test serves cores
 * and devices.
 */
#ifndef BULKHASH_TESTS_SUPPORT_MIRROR_H
#define BULKHASH_TESTS_SUPPORT_MIRROR_H

#include <bulkhash/bulkhash.h>

#include "primitives/primitives.h"

/* Those of a context on a GPU, one at a time; `where` receives the place to run them. */
const bh__primitives *mirror_primitives(bh_context *context, bh__where *where);

#endif
