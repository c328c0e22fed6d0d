/*
 * Folding: where many elements of a slice of additions have the same key, their
 * values are added up first and the table sees each key once.
 *
 * Threads that add to the same few keys would otherwise wait for each other's cache
 * line at every element: with all elements equal, two threads did 14 M/s where one
 * alone does 50. Where keys differ, looking for equal ones would only cost time; so
 * the first elements of a slice say whether it pays. An include-template like
 * schedule.h, whose run_alike() does the rest.
 *
 *     seen     [ .. 7 .. 0 .. ]    by hash: the first element of the key last seen there
 *     elements   0:a 1:b 2:a 3:a 4:c     ->  run: 0:a (the sum of 0, 2, 3), 1:b, 4:c
 *                                            twins: 2 and 3, of 0
 *
 * Folding takes more memory than a stack should give; where the system gives none,
 * nothing is folded.
 *
 * A key that another one has pushed out of `seen` counts as new when it comes again:
 * then it is run twice, which is correct too. When an element stalls, so do its
 * twins: all are named for the policy, and folded again when the slice goes on.
 */
#ifndef BH_CPU_FOLD_H
#define BH_CPU_FOLD_H

/* Elements of the sample, and how many twins in it are not there by chance. A build for tests may
 * want to fold where there are few. */
#ifndef BH_FOLD_SAMPLE
#define BH_FOLD_SAMPLE 128u
#define BH_FOLD_TWINS 8u
#endif
#define BH_FOLD_SAMPLE_BITS 8u
#define BH_FOLD_SEEN_BITS 10u

BH_FN uint32_t bh_fold_place(uint64_t key, uint32_t bits)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> (64 - bits));
}

#endif

/* Whether the same keys come again and again, as far as the first elements show. */
BH_FN int BH_DESIGN(worth_folding)(const bh__slice *slice, uint32_t total)
{
    const BH_KEY *keys = (const BH_KEY *)slice->keys;
    BH_KEY seen[1u << BH_FOLD_SAMPLE_BITS];
    uint32_t twins = 0, i;

    if (total < BH_FOLD_SAMPLE)
        return 0;
    /* Hardly any key is the complement of the first one: places are as good as empty. */
    for (i = 0; i < 1u << BH_FOLD_SAMPLE_BITS; i++)
        seen[i] = (BH_KEY)~keys[slice->listed ? slice->list[0] : 0];
    for (i = 0; i < BH_FOLD_SAMPLE; i++) {
        BH_KEY key = keys[slice->listed ? slice->list[i] : i];
        BH_KEY *place = &seen[bh_fold_place(key, BH_FOLD_SAMPLE_BITS)];

        twins += *place == key;
        *place = key;
    }
    return twins >= BH_FOLD_TWINS;
}

typedef struct BH_DESIGN(fold) {
    BH_VALUE sum[BH_SLICE_MOST];
    uint16_t seen[1u << BH_FOLD_SEEN_BITS];
    uint16_t run[BH_SLICE_MOST];
    uint16_t twin[BH_SLICE_MOST];
    uint16_t twin_of[BH_SLICE_MOST];
    uint8_t stalled[BH_SLICE_MOST];
} BH_DESIGN(fold);

/* BH_ADD on a slice of `total` elements in which keys come again and again. Answers 0, nothing done,
 * when there is no memory for that. */
BH_FN_RARE int BH_DESIGN(run_folded)(bh__slice *slice, uint32_t total)
{
    const bh_system *system = slice->system;
    BH_DESIGN(fold) *fold = (BH_DESIGN(fold) *)system->allocate(system->state, sizeof *fold);
    const BH_KEY *keys = (const BH_KEY *)slice->keys;
    const BH_VALUE *values = (const BH_VALUE *)slice->values;
    uint16_t *list = slice->list;
    const uint32_t listed = slice->listed;
    uint32_t runs = 0, twins = 0, i;

    if (!fold)
        return 0;
    for (i = 0; i < BH_SLICE_MOST; i++)
        fold->stalled[i] = 0;
    /* Without branches: no processor predicts which element is a twin. In the beginning every place of
     * seen names the first element. */
    for (i = 0; i < 1u << BH_FOLD_SEEN_BITS; i++)
        fold->seen[i] = (uint16_t)(listed ? list[0] : 0);
    for (i = 0; i < total; i++) {
        uint16_t at = (uint16_t)(listed ? list[i] : i);
        uint16_t *place = &fold->seen[bh_fold_place(keys[at], BH_FOLD_SEEN_BITS)];
        uint32_t is_twin = i && keys[*place] == keys[at];
        uint16_t first = is_twin ? *place : at;

        *place = first;
        fold->sum[at] = 0;
        fold->sum[first] = (BH_VALUE)(fold->sum[first] + values[at]);
        fold->run[runs] = at;
        runs += !is_twin;
        fold->twin[twins] = at;
        fold->twin_of[twins] = first;
        twins += is_twin;
    }
    slice->list = fold->run;
    slice->listed = runs;
    slice->values = fold->sum;
    BH_DESIGN(run_alike)(slice, BH_ADD);
    for (i = 0; i < slice->stalled; i++) {
        list[i] = fold->run[i];
        fold->stalled[fold->run[i]] = 1;
    }
    for (i = 0; i < twins; i++) {
        if (fold->stalled[fold->twin_of[i]]) {
            list[slice->stalled++] = fold->twin[i];
            continue;
        }
        slice->assigned++;
        if (slice->outcomes)
            slice->outcomes[fold->twin[i]] = BH_ASSIGNED;
    }
    slice->list = list;
    slice->listed = listed;
    slice->values = values;
    system->release(system->state, fold, sizeof *fold);
    return 1;
}
