/*
 * BH_ST_PASS_REHASH on a GPU, for one pair of widths. An include-template: see instance.h. tables/stadium/scan.h has the
 * text for cores, where one thread puts one pair after the other.
 *
 * Here a thread has a pair, so that many are on their way. The pairs of neighbouring slots go to neighbouring words: if each
 * thread claimed a ticket for itself, of all that want tickets of one word at the same time one would succeed, and the others
 * would try again. So the threads of a warp that are at the same word claim their tickets together, by one compare-and-swap:
 *
 *     lane       0  1  2  3  4  5
 *     is at      w  v  w  w  v  w          w: its fresh tickets are a, b, c
 *     takes      a  d  b  c  e  -          v: d, e, f
 *
 * Lane 0 swaps a, b and c in, lane 1 d and e. Lane 5 finds no fresh ticket left in w and goes on along its path. (By slot a
 * path has one ticket of a word, and the text for cores is run by a thread for each word.)
 */
#if BH_APART < BH_DESIGN_INSTANCES
#include "tables/stadium/ops.h"

#ifndef BH_CUDA_DEVICE_STADIUM_REHASH_H
#define BH_CUDA_DEVICE_STADIUM_REHASH_H

/* Words that a warp has at a time. */
#define BH_ST_REHASH_WORDS 4u

/* Claims tickets of the word at an address for those threads of a warp that are at it, `peers`, of which this is one; `ready`
 * is its key's. *bit becomes where its own ticket begins, or 64 where there was none left. Answers 0 when others changed the
 * word: try again. */
BH_FN int bh_st_claim_together(const bh_st_geometry *g, uint64_t at, uint32_t peers, uint64_t ready,
                               uint32_t *bit)
{
    const uint32_t lane = threadIdx.x % 32, leader = bh_first(peers);
    uint32_t before = bh_count(peers & ((1u << lane) - 1));
    uint64_t word = 0, fresh, claimed;
    int swapped = 1;

    if (lane == leader)
        word = bh_peek64(bh_st_at(at));
    word = __shfl_sync(peers, word, (int)leader);
    for (fresh = bh_st_zeros(g, word); fresh && before; before--)
        fresh &= fresh - 1;
    *bit = fresh ? bh_st_first(g, fresh) : 64;
    claimed = fresh ? ready << *bit : 0;
    claimed = __reduce_or_sync(peers, (uint32_t)claimed) |
              (uint64_t)__reduce_or_sync(peers, (uint32_t)(claimed >> 32)) << 32;
    if (lane == leader && claimed)
        swapped = bh_swap_if64(bh_st_at(at), word, word + claimed);
    return __shfl_sync(peers, swapped, (int)leader);
}

#endif

#define BH_ST(name) BH_NAME(bh_st_##name)

/* Puts the pairs of a warp's threads that have one (`here`) into fresh slots of their paths; their keys are nowhere in the
 * table. Answers whether this thread's pair found one. */
BH_FN int BH_ST(place_together)(const bh_st_geometry *g, int here, BH_KEY key, BH_VALUE value)
{
    const bh_hash h = bh_hash_key(key, &g->seed);
    const bh_st_part *part = bh_st_part_of(g, &h);
    const uint64_t ready = bh_st_ready(g, &h);
    bh_st_path path = bh_st_begin(part, &h);
    uint32_t all, bit;
    int placed = 0;

    while ((all = __ballot_sync(0xffffffffu, here)) != 0) {
        const uint64_t number = bh_st_word(g, &path, &h), at = part->board + number * 8;

        if (!here || !bh_st_claim_together(g, at, __match_any_sync(all, at), ready, &bit))
            continue;
        if (bit < 64) {
            while (path.steps && !bh_st_raise(0, part, bh_st_home(g, part, &h), path.steps))
                ;
            BH_ST(store)(BH_ST(slot_at)(g, part, number, bh_st_index(g, bit)), key, value);
            placed = 1;
        }
        here = !placed && bh_st_go_on(g, part, &path, &h);
    }
    return placed;
}

/* Moves the pairs of words from `first` on, as many as a warp has. */
BH_FN void BH_ST(rehash_together)(bh_st_rehash *job, uint64_t first, uint64_t items)
{
    const bh_st_geometry *g = job->geometry;
    const uint32_t slots = BH_ST_REHASH_WORDS * g->group;
    uint64_t moved = 0, refused = 0;
    uint32_t i;

    for (i = threadIdx.x % 32; __any_sync(0xffffffffu, i < slots); i += 32) {
        const uint64_t number = first + i / g->group;
        const uint32_t index = i % g->group;
        const uint64_t slot = BH_ST(slot_at)(g, &job->from, number, index);
        BH_KEY key = 0;
        BH_VALUE value = 0;
        int here = i < slots && number < items, placed;

        if (here)
            here = BH_ST(taken)(g, bh_read64(bh_st_at(job->from.board + number * 8))) >>
                       ((index + 1) * g->width - 1) &
                   1;
        if (here) {
            key = BH_READ_KEY(bh_st_at(slot));
            value = BH_VALUE_BYTES ? BH_READ_VALUE(BH_ST(value_of)(slot)) : 0;
        }
        placed = BH_ST(place_together)(g, here, key, value);
        moved += placed;
        refused += here && !placed;
    }
    bh_add64(&job->moved, moved);
    bh_add64(&job->refused, refused);
}

__global__ void BH_ST(cuda_rehash)(bh_st_rehash *job, uint64_t items)
{
    const uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (job->geometry->by_slot) {
        if (thread < items)
            BH_ST(rehash_words)(job, thread, 1);
    } else {
        BH_ST(rehash_together)(job, thread / 32 * BH_ST_REHASH_WORDS, items);
    }
}

int BH_DESIGN(launch_rehash_words)(bh__gpu *gpu, void *job, uint64_t items)
{
    const uint64_t warps = (items + BH_ST_REHASH_WORDS - 1) / BH_ST_REHASH_WORDS;

    BH_ST(cuda_rehash)<<<bh__gpu_blocks(warps * 32), BH_CUDA_BLOCK, 0, gpu->stream>>>(
        (bh_st_rehash *)job, items);
    return (int)cudaGetLastError();
}

#undef BH_ST
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
