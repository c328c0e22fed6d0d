/* bh_gather32, bh_gather64 and bh_differ32 with plain loads, for targets without gather instructions. */
#ifndef BH_TARGETS_GATHER_H
#define BH_TARGETS_GATHER_H

BH_FN void bh_gather32(uint32_t *to, const void *from, const uint32_t *index, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        uint32_t taken = index[i] != UINT32_MAX;
        uint32_t word = ((const uint32_t *)from)[taken ? index[i] : 0];

        to[i] = taken ? word : 0;
    }
}

BH_FN void bh_gather64(uint64_t *to, const void *from, uint32_t stride, const uint32_t *index,
                       uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        uint32_t taken = index[i] != UINT32_MAX;
        uint64_t word = ((const uint64_t *)from)[(uint64_t)(taken ? index[i] : 0) * (stride / 8)];

        to[i] = taken ? word : 0;
    }
}

BH_FN uint32_t bh_differ32(const void *from, const uint32_t *index, uint32_t first)
{
    uint32_t mask = 0, i;

    for (i = 0; i < 16; i++)
        mask |= (uint32_t)(((const uint32_t *)from)[index[i]] != first + i) << i;
    return mask;
}

#endif
