/* The designs of this version by their numbers; the list itself is designs.h. */
#include "tables/table.h"

#define BH_EACH_DESIGN "tables/design_layout.h"
#include "tables/designs.h"

#define BH_DESIGN_CALLED2(number) #number
#define BH_DESIGN_CALLED(number) BH_DESIGN_CALLED2(number)

static const struct {
    bh_design number;
    const char *name; /* in the public header */
    const bh__policy *policy;
} designs[] = {
#define BH_EACH_DESIGN "tables/design_row.h"
#include "tables/designs.h"
};

#define DESIGNS (sizeof designs / sizeof designs[0])

const bh__policy *bh__policy_of(bh_design design)
{
    uint32_t i;

    for (i = 0; i < DESIGNS; i++)
        if (designs[i].number == design)
            return designs[i].policy;
    return 0;
}

bh_design bh__design_chosen(void)
{
    return designs[0].number;
}

bh_design bh__design_at(uint32_t i, const char **name)
{
    if (i >= DESIGNS)
        return BH_AUTO;
    if (name)
        *name = designs[i].name;
    return designs[i].number;
}
