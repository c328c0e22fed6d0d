/* The words on the keys of a bucket, for targets that load the whole line: a word lies before the keys. */
#ifndef BH_TARGETS_KEYS_OF_LINE_H
#define BH_TARGETS_KEYS_OF_LINE_H

typedef uint64_t bh_wanted;

BH_FN bh_wanted bh_wanted32(uint32_t key)
{
    return key;
}

BH_FN bh_wanted bh_wanted64(uint64_t key)
{
    return key;
}

BH_FN uint32_t bh_keys_match32(const void *keys, uint32_t count, bh_wanted wanted)
{
    return bh_line_match32(bh_line_load((const char *)keys - 8), 2, count, (uint32_t)wanted) << 1;
}

BH_FN uint32_t bh_keys_match64(const void *keys, uint32_t count, bh_wanted wanted)
{
    return bh_line_match64(bh_line_load((const char *)keys - 8), 1, count, wanted) << 1;
}

#endif
