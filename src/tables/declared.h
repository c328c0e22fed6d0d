/*
 * A design's declaration (design.h in its folder) ends by including this file. It checks that the
 * declaration is complete, includes the file that the reader of the list of designs (designs.h) wants
 * expanded for each design, and undefines the declaration's macros. A declaration has
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
 *     BH_DESIGN_FRONT        on cores some elements first go through a front of the design's own:
 *                            BH_DESIGN(takes_front), BH_DESIGN(run_front) (cpu/schedule.h)
 *     BH_DESIGN_AIMS         on cores elements of all kinds go through the front of the schedule first: an
 *                            include-template that says where the keys of a group live (cpu/front_rounds.h)
 *     BH_DESIGN_FOLLOWS      with BH_DESIGN_AIMS: keys lie in chains of lines, along which lookups go in the front
 *     BH_DESIGN_ROOM_ROUNDS  with BH_DESIGN_AIMS: for new keys whose first line is full the front has so many rounds that make room
 *                            (cpu/front_room.h)
 *     BH_DESIGN_PUTS_BACK    on cores slices have a stash (bh__stash), of which BH_DESIGN(put_back) puts the rest back
 *     BH_DESIGN_CORES        an include-template with more text for cores, which may use the window
 *                            (cpu/schedule.h)
 *     BH_DESIGN_APART(o)     whether a table's options want keys and values apart: the design has
 *                            instances with BH_APART
 *     BH_DESIGN_APART_DEFAULT(key_bytes, value_bytes)   with BH_DESIGN_APART: whether keys and values of these
 *                            widths are apart by default; an expression that #if can evaluate. What a design
 *                            does on a GPU region by region it does with keys and values as they are by default
 *     BH_DESIGN_SCRATCH      bytes of the fast memory that a device gives to passes that run ALONE, in
 *                            a design that has such passes
 *     BH_DESIGN_TIERS        its regions may lie in other tiers than near memory (not on a GPU, which
 *                            addresses all memory directly): BH_DESIGN(bringer)(geometry, tier) answers
 *                            the bringer of a tier (storage/bringer.h)
 *     BH_DESIGN_REGION       bytes of the regions that lookups want: 16, 32, 64 (the default) or 128. It
 *                            may depend on the widths: an expression of BH_KEY_BYTES, BH_VALUE_BYTES and
 *                            BH_APART that #if can evaluate. A GPU copies regions of that length, which
 *                            begin at multiples of 16 bytes, to its shared memory (cuda/device/look.h),
 *                            as well as regions of 64 bytes, and reads others where they are. Of 128 bytes
 *                            lookups with BH_HINT_ABSENT should ask for the first 64 alone
 *     BH_DESIGN_FAR          on a GPU some regions may lie in the host's memory (BH_TIER_HOST)
 *     BH_DESIGN_IN_TURN      its searches differ in length: on a GPU a lane takes up to so many elements of a
 *                            call in turn, and does not wait for the longest search of its warp
 *                            (cuda/device/look.h); 1 by default, of lookups in regions of
 *                            128 bytes 4
 *     BH_DESIGN_AT_ONCE      some of its tables have BH_HINT_AT_ONCE. On a GPU there are kernels of their own for
 *                            these, which need fewer registers than those that do either; with BH_DESIGN_CLAIMS
 *     BH_DESIGN_CLAIMS       on a GPU most insertions into its tables with BH_HINT_CLAIMS need no locks, by
 *                            BH_DESIGN(step_claim) (cuda/device/claim.h); with BH_DESIGN_PRESENT
 *     BH_DESIGN_CLAIMS_FIRST with BH_DESIGN_CLAIMS: the first step of all elements is a kernel of its own, and
 *                            the kernels write the pairs: BH_DESIGN(claimed) tells where. An element of which
 *                            BH_DESIGN(is_away) after that is begun again by BH_DESIGN(begin_away)
 *     BH_DESIGN_STAGES       on a GPU the elements of large calls go through stages (cuda/device/kernels.h);
 *                            BH_DESIGN(begin_last) begins an element in the last stage
 *     BH_DESIGN_PRESENT      on a GPU some calls first act on the keys that are there, without locks, by
 *                            BH_DESIGN(step_present) (cuda/device/present.h); with BH_DESIGN_STAGES
 *     BH_DESIGN_WAYS         on a GPU, with BH_DESIGN_STAGES: before the last stage BH_DESIGN(gpu_make_way) makes
 *                            room for the elements that are listed for it
 *     BH_DESIGN_REGIONS      on a GPU some large calls go through the table region by region, by
 *                            BH_DESIGN(gpu_by_region); BH_DESIGN_REGIONS is the type of what says how a
 *                            table is divided (cuda/device/scatter.h)
 *
 * BH_DESIGN(name) then names a function or a type of the design, in the instance at hand (instance.h).
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
#elif defined(BH_DESIGN_PRESENT) && !defined(BH_DESIGN_STAGES)
#error "a design with BH_DESIGN_PRESENT needs BH_DESIGN_STAGES for keys that are absent"
#elif defined(BH_DESIGN_CLAIMS) && !defined(BH_DESIGN_PRESENT)
#error "a design with BH_DESIGN_CLAIMS needs BH_DESIGN_PRESENT for keys that are there"
#elif defined(BH_DESIGN_AT_ONCE) && !defined(BH_DESIGN_CLAIMS)
#error "a design with BH_DESIGN_AT_ONCE needs BH_DESIGN_CLAIMS for insertions"
#elif defined(BH_DESIGN_LOOKUPS_ONLY) && (defined(BH_DESIGN_STAGES) || defined(BH_DESIGN_REGIONS))
#error "BH_DESIGN_STAGES and BH_DESIGN_REGIONS are for designs whose operations change tables"
#elif defined(BH_DESIGN_AIMS) &&                                                                   \
    (defined(BH_DESIGN_FRONT) || defined(BH_DESIGN_TIERS) || defined(BH_DESIGN_LOOKUPS_ONLY))
#error "BH_DESIGN_AIMS is for designs that change in near memory and have no front of their own"
#elif defined(BH_DESIGN_FOLLOWS) && !defined(BH_DESIGN_AIMS)
#error "BH_DESIGN_FOLLOWS is for designs with BH_DESIGN_AIMS"
#elif defined(BH_DESIGN_ROOM_ROUNDS) && (!defined(BH_DESIGN_AIMS) || defined(BH_DESIGN_FOLLOWS))
#error "BH_DESIGN_ROOM_ROUNDS is for designs with BH_DESIGN_AIMS and without chains"
#elif !defined(BH_EACH_DESIGN)
#error "include tables/designs.h, with BH_EACH_DESIGN defined"
#endif

#ifndef BH_DESIGN_PASTE
#define BH_DESIGN_PASTE2(prefix, name) prefix##name
#define BH_DESIGN_PASTE(prefix, name) BH_DESIGN_PASTE2(prefix, name)
#endif
#define BH_DESIGN(name) BH_NAME(BH_DESIGN_PASTE(BH_DESIGN_PREFIX, name))
/* The name of a function or a type that all instances of the design share. */
#define BH_OF_DESIGN(name) BH_DESIGN_PASTE(BH_DESIGN_PREFIX, name)

#ifdef BH_DESIGN_APART
#define BH_DESIGN_WANTS_APART(options) ((options)->value_bytes != 0 && BH_DESIGN_APART(options))
#define BH_DESIGN_INSTANCES 2 /* side by side, and apart */
#else
#define BH_DESIGN_WANTS_APART(options) 0
#define BH_DESIGN_INSTANCES 1
#endif
#ifndef BH_DESIGN_APART_DEFAULT
#define BH_DESIGN_APART_DEFAULT(key_bytes, value_bytes) 0
#endif
#ifndef BH_DESIGN_SCRATCH
#define BH_DESIGN_SCRATCH 0
#endif

#ifndef BH_DESIGN_REGION
#define BH_DESIGN_REGION 64
#endif
#ifndef BH_DESIGN_IN_TURN
#define BH_DESIGN_IN_TURN 1
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
#undef BH_DESIGN_AIMS
#undef BH_DESIGN_FOLLOWS
#undef BH_DESIGN_ROOM_ROUNDS
#undef BH_DESIGN_PUTS_BACK
#undef BH_DESIGN_APART
#undef BH_DESIGN_APART_DEFAULT
#undef BH_DESIGN_SCRATCH
#undef BH_DESIGN_TIERS
#undef BH_DESIGN_REGION
#undef BH_DESIGN_FAR
#undef BH_DESIGN_IN_TURN
#undef BH_DESIGN_AT_ONCE
#undef BH_DESIGN_CLAIMS
#undef BH_DESIGN_CLAIMS_FIRST
#undef BH_DESIGN_STAGES
#undef BH_DESIGN_PRESENT
#undef BH_DESIGN_WAYS
#undef BH_DESIGN_REGIONS
