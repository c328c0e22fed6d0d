/*
 * How two values of one key become one: the operations of bh_reduce, defined once for operations on a table
 * (tables/effect.h), for primitives on cores (along.h) and for those of a GPU (cuda/device/primitives.cu).
 *
 * A value is a word of 64 bits here, whatever its width: one of 4 bytes has zeros above. The caller cuts off
 * bits of a sum above the width.
 */
#ifndef BH_PRIMITIVES_COMBINE_H
#define BH_PRIMITIVES_COMBINE_H

#include "bulkhash/bulkhash.h"

/* The bits of a float, and back. (Copying the bytes would need libc, or a word of each target.) */
typedef union bh_float_bits {
    uint32_t bits;
    float value;
} bh_float_bits;

typedef union bh_double_bits {
    uint64_t bits;
    double value;
} bh_double_bits;

/* The sum of two floats of 4 or 8 bytes: one IEEE addition, rounded to nearest. */
BH_FN uint64_t bh_add_floats(uint32_t bytes, uint64_t a, uint64_t b)
{
    if (bytes == 4) {
        bh_float_bits x, y;

        x.bits = (uint32_t)a;
        y.bits = (uint32_t)b;
        x.value += y.value;
        return x.bits;
    } else {
        bh_double_bits x, y;

        x.bits = a;
        y.bits = b;
        x.value += y.value;
        return x.bits;
    }
}

/* Signed numbers with their sign bits inverted are in the order of unsigned numbers. */
BH_FN int bh_is_less_signed(uint32_t bytes, uint64_t a, uint64_t b)
{
    const uint64_t sign = bytes == 4 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;

    return (a ^ sign) < (b ^ sign);
}

/* A function of its own, for operations that are not constants: kernels of mixed operations get shorter. */
BH_FN_RARE uint64_t bh_combine_rare(uint32_t op, uint32_t bytes, uint64_t a, uint64_t b)
{
    switch (op) {
    case BH_MIN_SIGNED: return bh_is_less_signed(bytes, b, a) ? b : a;
    case BH_MAX_SIGNED: return bh_is_less_signed(bytes, a, b) ? b : a;
    case BH_ADD_FLOAT: return bh_add_floats(bytes, a, b);
    default: return a;
    }
}

/* `a` and then `b`, of `bytes` bytes each, as one. `op` is what BH_OP_JOINS() answers. */
BH_FN uint64_t bh_combine(uint32_t op, uint32_t bytes, uint64_t a, uint64_t b)
{
    switch (op) {
    case BH_INSERT: return b;
    case BH_INSERT_NEW: return a;
    case BH_ADD: return a + b;
    case BH_MIN: return b < a ? b : a;
    case BH_MAX: return b > a ? b : a;
    default: return bh_combine_rare(op, bytes, a, b);
    }
}

#endif
