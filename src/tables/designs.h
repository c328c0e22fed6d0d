/*
 * The list of designs: a line each. No other file outside a design's own folders names a design. The first
 * line is what BH_AUTO stands for; where a GPU has too little memory for a table of it, the first line whose policy
 * says that its tables may be larger (outgrows_device).
 *
 * A line includes the declaration of a design, which says all that others must know of it (declared.h
 * tells what). Whoever needs something of every design defines BH_EACH_DESIGN as the file that is
 * to be included for each, with the declaration's macros defined, and includes this list. The list is
 * included several times, so it has no guard.
 *
 * A build for tests may have more designs: it defines BH_MORE_DESIGNS as a list of its own. With
 * BH_MORE_ALONE it has these alone.
 */
#ifndef BH_MORE_ALONE
#include "tables/dycuckoo/design.h"
#include "tables/hashfight/design.h"
#include "tables/dachash/design.h"
#include "tables/stadium/design.h"
#endif

#ifdef BH_MORE_DESIGNS
#include BH_MORE_DESIGNS
#endif

#undef BH_EACH_DESIGN
