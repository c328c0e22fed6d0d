/*
 * The last line of a design's declaration (design.h in its folder): checks that it is whole, has it
 * expanded by whoever reads the list of designs (designs.h), and takes its macros back. A declaration
 * has
 *
 *     BH_DESIGN_NUMBER       its bh_design
 *     BH_DESIGN_PREFIX       what its names begin with, e.g. bh_dy_
 *     BH_DESIGN_POLICY       its bh__policy
 *     BH_DESIGN_LAYOUT       the header of what host and device share, which declares the policy
 *     BH_DESIGN_OPS          the include-template of its operations: begin and step
 *     BH_DESIGN_GEOMETRY     the type of its descriptor
 *     BH_DESIGN_PASSES       the list of its passes (bh__kernels)
 *
 * and where they apply
 *
 *     BH_DESIGN_LOOKUPS_ONLY its operations only look up; the policy performs what changes a table
 *     BH_DESIGN_FRONT        cores have a front for lookups: BH_DESIGN(front_fits), BH_DESIGN(front)
 *     BH_DESIGN_CORES        an include-template with more text for cores, which may use the window
 *                            (cpu/schedule.h)
 *     BH_DESIGN_APART(o)     whether a table's options want keys and values apart: it has instances
 *                            with BH_APART
 *     BH_DESIGN_SCRATCH      bytes of the fast memory that a device gives to passes that run ALONE; a
 *                            design that has such passes says how many
 *     BH_DESIGN_TIERS        its regions may lie in other tiers than near memory (not on a GPU, to which
 *                            all memory is an address): BH_DESIGN(bringer)(geometry, tier) answers what
 *                            brings them (storage/bringer.h)
 *     BH_DESIGN_REGION       bytes of the regions that lookups want: 16, 32, 64, which is what it is where a
 *                            declaration does not say, or 128. It may depend on the widths: a number
 *                            that #if can make of BH_KEY_BYTES, BH_VALUE_BYTES and BH_APART. A GPU copies
 *                            regions of that length, which begin at multiples of 16 bytes, to its
 *                            shared memory (cuda/device/look.h), and others are read where they are
 *     BH_DESIGN_STAGES       on a GPU the elements of large calls go through stages (cuda/device/kernels.h);
 *                            BH_DESIGN(begin_last) begins one in the last of them
 *     BH_DESIGN_REGIONS      and some large calls region by region of the table, BH_DESIGN(gpu_by_region):
 *                            the type of what says how a table is divided (cuda/device/scatter.h)
 *
 * BH_DESIGN(name) is then the name of a thing of the design, in the instance at hand (instance.h).
 */
#if !defined(BH_DESIGN_NUMBER)
#error "a design's declaration lacks BH_DESIGN_NUMBER"
#elif !defined(BH_DESIGN_PREFIX)
#error "a design's declaration lacks BH_DESIGN_PREFIX"
#elif !defined(BH_DESIGN_POLICY)
#error "a design's declaration lacks BH_DESIGN_POLICY"
#elif !defined(BH_DESIGN_LAYOUT)
#error "a design's declaration lacks BH_DESIGN_LAYOUT"
#elif !defined(BH_DESIGN_OPS)
#error "a design's declaration lacks BH_DESIGN_OPS"
#elif !defined(BH_DESIGN_GEOMETRY)
#error "a design's declaration lacks BH_DESIGN_GEOMETRY"
#elif !defined(BH_DESIGN_PASSES)
#error "a design's declaration lacks BH_DESIGN_PASSES"
#elif defined(BH_DESIGN_REGIONS) && !defined(BH_DESIGN_STAGES)
#error                                                                                             \
    "a design whose calls go by region (BH_DESIGN_REGIONS) needs BH_DESIGN_STAGES for those left over"
#elif defined(BH_DESIGN_LOOKUPS_ONLY) && (defined(BH_DESIGN_STAGES) || defined(BH_DESIGN_REGIONS))
#error "BH_DESIGN_STAGES and BH_DESIGN_REGIONS are for designs whose operations change tables"
#elif !defined(BH_EACH_DESIGN)
#error "include tables/designs.h, with BH_EACH_DESIGN defined"
#endif

#ifndef BH_DESIGN_PASTE
#define BH_DESIGN_PASTE2(prefix, name) prefix##name
#define BH_DESIGN_PASTE(prefix, name) BH_DESIGN_PASTE2(prefix, name)
#endif
#define BH_DESIGN(name) BH_NAME(BH_DESIGN_PASTE(BH_DESIGN_PREFIX, name))
/* The same of what all instances share. */
#define BH_OF_DESIGN(name) BH_DESIGN_PASTE(BH_DESIGN_PREFIX, name)

#ifdef BH_DESIGN_APART
#define BH_DESIGN_WANTS_APART(options) ((options)->value_bytes != 0 && BH_DESIGN_APART(options))
#define BH_DESIGN_INSTANCES 2 /* side by side, and apart */
#else
#define BH_DESIGN_WANTS_APART(options) 0
#define BH_DESIGN_INSTANCES 1
#endif
#ifndef BH_DESIGN_SCRATCH
#define BH_DESIGN_SCRATCH 0
#endif

#ifndef BH_DESIGN_REGION
#define BH_DESIGN_REGION 64
#endif
#define BH_INSTANCE_FILE "tables/declared_region.h"
#include "tables/instances.h"

#include BH_EACH_DESIGN

#undef BH_DESIGN
#undef BH_OF_DESIGN
#undef BH_DESIGN_WANTS_APART
#undef BH_DESIGN_INSTANCES
#undef BH_DESIGN_NUMBER
#undef BH_DESIGN_PREFIX
#undef BH_DESIGN_POLICY
#undef BH_DESIGN_LAYOUT
#undef BH_DESIGN_OPS
#undef BH_DESIGN_GEOMETRY
#undef BH_DESIGN_PASSES
#undef BH_DESIGN_LOOKUPS_ONLY
#undef BH_DESIGN_FRONT
#undef BH_DESIGN_CORES
#undef BH_DESIGN_APART
#undef BH_DESIGN_SCRATCH
#undef BH_DESIGN_TIERS
#undef BH_DESIGN_REGION
#undef BH_DESIGN_STAGES
#undef BH_DESIGN_REGIONS
