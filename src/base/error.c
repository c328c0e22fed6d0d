/* The error sentence of each thread and the names of the statuses. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char sentence[1024];

bh_status bh__fail(bh_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return status;
}

const char *bh_error_detail(void)
{
    return sentence;
}

const char *bh_status_name(bh_status status)
{
    switch (status) {
    case BH_OK: return "BH_OK";
    case BH_ERR_ARGUMENT: return "BH_ERR_ARGUMENT";
    case BH_ERR_MEMORY: return "BH_ERR_MEMORY";
    case BH_ERR_FULL: return "BH_ERR_FULL";
    case BH_ERR_UNSUPPORTED: return "BH_ERR_UNSUPPORTED";
    case BH_ERR_DEVICE: return "BH_ERR_DEVICE";
    case BH_ERR_IO: return "BH_ERR_IO";
    case BH_ERR_CORRUPT: return "BH_ERR_CORRUPT";
    case BH_ERR_VERSION: return "BH_ERR_VERSION";
    }
    return "unknown status";
}
