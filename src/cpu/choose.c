/*
 * Which unit runs on this machine. This file is compiled without any target's
 * flags, so that asking for an instruction set cannot itself need that set.
 */
#include <string.h>

#include "base/error.h"
#include "cpu/unit.h"

static int always(void)
{
    return 1;
}

/* The units also use prefetchw, which older processors execute as a no-operation. */
#if defined(BH_HAVE_AVX2) && (defined(__x86_64__) || defined(__i386__))
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}
#endif

#if defined(BH_HAVE_AVX512) && (defined(__x86_64__) || defined(__i386__))
static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

/* The best unit is last. A unit that this build lacks is listed without kernels. A special build, made for
 * tests (cmake/library.cmake), has one unit and no choice. */
static const struct {
    const char *name;
    int (*runs_here)(void);
    bh__unit_kernels kernels;
    bh__unit_primitives primitives;
} units[] = {
#if defined(BH_SPECIAL_TARGET)
    {BH_SPECIAL_TARGET, always, bh__unit_special, bh__unit_primitives_special},
#else
    {"scalar", always, bh__unit_scalar, bh__unit_primitives_scalar},
#if defined(BH_HAVE_AVX2)
    {"avx2", has_avx2, bh__unit_avx2, bh__unit_primitives_avx2},
#else
    {"avx2", always, 0, 0},
#endif
#if defined(BH_HAVE_AVX512)
    {"avx512", has_avx512, bh__unit_avx512, bh__unit_primitives_avx512},
#else
    {"avx512", always, 0, 0},
#endif
#endif
};

#define UNITS (sizeof units / sizeof units[0])

bh_status bh__target_choose(const char *wanted, bh__target *target)
{
    size_t i;

    if (wanted && !*wanted)
        wanted = NULL;
    for (i = UNITS; i-- > 0;) {
        if (wanted && strcmp(wanted, units[i].name) != 0)
            continue;
        if (units[i].kernels && units[i].runs_here()) {
            target->name = units[i].name;
            target->kernels = units[i].kernels;
            target->primitives = units[i].primitives();
            return BH_OK;
        }
        if (wanted)
            return bh__fail(BH_ERR_UNSUPPORTED,
                            "BULKHASH_TARGET is %s, which this %s does not have; unset it to use "
                            "the best there is",
                            wanted, units[i].kernels ? "machine" : "build");
    }
    return bh__fail(BH_ERR_ARGUMENT,
                    "BULKHASH_TARGET is \"%.40s\"; it must be scalar, avx2 or avx512", wanted);
}
