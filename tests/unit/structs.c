/*
 * Structs that have grown, as base/structs.h handles them: no public one has grown yet, so here one does,
 * twice. tests/older holds the public ones to what programs of each version were compiled with.
 */
#include <string.h>

#include "base/structs.h"
#include "support/check.h"

typedef struct grown {
    uint64_t struct_size;
    uint32_t one, two; /* version 1 */
    uint64_t three;    /* version 2 */
    const char *four;  /* version 3 */
} grown;

static const uint64_t sizes[] = {BH_SIZE_TO(grown, two), BH_SIZE_TO(grown, three),
                                 BH_SIZE_TO(grown, four)};
static const uint64_t newest_first[] = {sizeof(grown), BH_SIZE_TO(grown, three),
                                        BH_SIZE_TO(grown, two), 0};
static const bh__struct of_grown = {"grown", newest_first};

static const grown defaults = {sizeof(grown), 10, 20, 30, "forty"};

static void options_of_each_version(void **state)
{
    (void)state;
    for (int version = 0; version < 3; version++) {
        grown given = {sizes[version], 1, 2, 3, "four"}, taken = defaults;

        check_status(bh__take_struct(&of_grown, &taken, &given), BH_OK);
        check(taken.struct_size == sizeof taken, "what was taken is not whole");
        check(taken.one == 1 && taken.two == 2, "an option of version 1 is lost");
        check(taken.three == (version >= 1 ? 3 : 30), "version %d, three is %llu", version + 1,
              (unsigned long long)taken.three);
        check(!strcmp(taken.four, version >= 2 ? "four" : "forty"), "version %d, four is %s",
              version + 1, taken.four);
    }
}

static void other_sizes_are_refused(void **state)
{
    (void)state;
    for (uint64_t size = 0; size < 2 * sizeof(grown); size++) {
        grown given = {size, 1, 2, 3, "four"}, taken = defaults;
        const bool known = size == sizes[0] || size == sizes[1] || size == sizes[2];

        check_status(bh__check_struct(&of_grown, &given), known ? BH_OK : BH_ERR_ARGUMENT);
        check_status(bh__take_struct(&of_grown, &taken, &given), known ? BH_OK : BH_ERR_ARGUMENT);
        check(known || !memcmp(&taken, &defaults, sizeof taken), "a refused struct was taken");
    }
}

static void filled_as_far_as_it_goes(void **state)
{
    (void)state;
    for (int version = 0; version < 3; version++) {
        unsigned char was[sizeof(grown)];
        grown to;

        memset(&to, 0x5a, sizeof to);
        memcpy(was, &to, sizeof to);
        to.struct_size = sizes[version];
        bh__give_struct(&to, &defaults);
        check(to.struct_size == sizes[version], "the size was changed");
        check(to.one == 10 && to.two == 20, "a field of version 1 is not filled");
        check(!memcmp((unsigned char *)&to + sizes[version], was + sizes[version],
                      sizeof to - sizes[version]),
              "version %d: something was written behind the struct", version + 1);
        check(version < 1 || to.three == 30, "three is not filled");
        check(version < 2 || !strcmp(to.four, "forty"), "four is not filled");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_each_version),
        cmocka_unit_test(other_sizes_are_refused),
        cmocka_unit_test(filled_as_far_as_it_goes),
    };

    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
