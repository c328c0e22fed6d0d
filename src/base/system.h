/* The library's own system functions; what they promise stands in bulkhash.h, chapter 8. */
#ifndef BH_BASE_SYSTEM_H
#define BH_BASE_SYSTEM_H

#include "bulkhash/bulkhash.h"

#define BH__PAGE_SMALL 4096ull
#define BH__PAGE_HUGE (2ull << 20)

#endif
