/* The list of designs: the one place where a new policy is entered. */
#include "tables/designs.h"

const bh__policy *bh__policy_of(bh_design design)
{
    switch (design) {
    case BH_DYCUCKOO: return &bh__dycuckoo_policy;
    case BH_HASHFIGHT: return &bh__hashfight_policy;
    case BH_AUTO:
    case BH_STADIUM:
    case BH_DACHASH:
    case BH_WORKINGSET: break;
    }
    return 0;
}
