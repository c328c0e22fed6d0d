/*
 * A bringer of regions (storage/bringer.h) that is late: each region is refused 0 to 3 times before it is
 * there, as a seed has it. What it brings is memory all the while, so a table that lies in it is tested as
 * it is, and the schedule is.
 *
 * It checks what schedules promise: a region is let go of as often as it was brought, by the address
 * that was answered. When the program ends it wants to have been late, and to have everything back.
 */
#ifndef TESTS_SUPPORT_LATE_H
#define TESTS_SUPPORT_LATE_H

#include "storage/bringer.h"

/* A region's offset is its address with these bits turned over: who uses it as an address has none. */
#define LATE_BITS (UINT64_C(0x5a5a) << 48)

/* The bringer, where BULKHASH_TEST_LATE is set, or NULL. */
const bh__bringer *late_bringer(void);

#endif
