/*
 * Linear counting (Whang and others, 1990): how many different keys there are, from how many of `places` places have been
 * marked, where each key marks one that its hash names. Equal keys mark the same place, so it does not matter how often a
 * key comes. When n keys mark places of m, the standard error of the estimate is sqrt(m * (exp(n / m) - n / m - 1)).
 */
#ifndef BH_PRIMITIVES_LINEAR_COUNTING_H
#define BH_PRIMITIVES_LINEAR_COUNTING_H

#include <stdint.h>

/* -places * ln(1 - marked / places) */
static inline uint64_t bh_keys_of_places(uint64_t marked, uint64_t places)
{
    const double ln2 = 0.69314718055994531;
    /* Were all marked, there would be no saying how many keys there are. */
    double left = marked < places ? 1 - (double)marked / (double)places : 0.5 / (double)places;
    double sum = 0, z, zz;

    for (; left < 0.5; left *= 2)
        sum += ln2;
    /* -ln(left) is 2 * artanh(z), and z is 1/3 at most. */
    z = (1 - left) / (1 + left);
    zz = z * z;
    sum += 2 * z * (1 + zz * (1 / 3.0 + zz * (1 / 5.0 + zz * (1 / 7.0 + zz * (1 / 9.0)))));
    return (uint64_t)((double)places * sum);
}

#endif
