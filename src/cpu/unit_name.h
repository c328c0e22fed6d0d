/* The names of a unit's functions end with the name of its target; those of a special build (unit.h) with `special`. */
#ifndef BH_CPU_UNIT_NAME_H
#define BH_CPU_UNIT_NAME_H

#if defined(BH_SPECIAL_TARGET)
#define BH_UNIT_NAME(name) name##_special
#elif defined(BH_TARGET_AVX512)
#define BH_UNIT_NAME(name) name##_avx512
#elif defined(BH_TARGET_AVX2)
#define BH_UNIT_NAME(name) name##_avx2
#else
#define BH_UNIT_NAME(name) name##_scalar
#endif

#endif
