/*
 * Stadium hashing, the passes, with the gate held alone: pairs go to other parts; which parts stalled elements
 * belong to; erased tickets are counted; export. And where the paths of keys begin. An include-template that
 * ops.h includes.
 */

/* The ready tickets of a word, when no ticket is claimed. */
BH_FN uint64_t BH_ST(taken)(const bh_st_geometry *g, uint64_t word)
{
    return ((word & g->lows) << (g->width - 1)) & ~bh_st_alike(g, word, BH_ST_ERASED);
}

/* The slot of a ticket: of a word of a part, the index-th. */
BH_FN uint64_t BH_ST(slot_at)(const bh_st_geometry *g, const bh_st_part *part, uint64_t number,
                              uint32_t index)
{
    return part->slots + ((number * g->group + index) << BH_ST_SHIFT);
}

/* Puts a pair, whose key is nowhere in the table, into the first fresh slot of its path. Answers 0 when there
 * is none. */
BH_FN int BH_ST(place)(const bh_st_geometry *g, BH_KEY key, BH_VALUE value)
{
    const bh_hash h = bh_hash_key(key, &g->seed);
    const bh_st_part *part = bh_st_part_of(g, &h);
    const uint64_t ready = bh_st_ready(g, &h);
    bh_st_path path = bh_st_begin(part, &h);

    do {
        const uint64_t number = bh_st_word(g, &path, &h), at = part->board + number * 8;
        uint64_t word = bh_peek64(bh_st_at(at)), fresh;

        while ((fresh = bh_st_zeros(g, word) & bh_st_considered(g, &path)) != 0) {
            const uint32_t bit = bh_st_first(g, fresh);

            if (bh_swap_if64(bh_st_at(at), word, word + (ready << bit))) {
                while (path.steps && !bh_st_raise(0, part, bh_st_home(g, part, &h), path.steps))
                    ;
                BH_ST(store)(BH_ST(slot_at)(g, part, number, bh_st_index(g, bit)), key, value);
                return 1;
            }
            word = bh_peek64(bh_st_at(at));
        }
    } while (bh_st_go_on(g, part, &path, &h));
    return 0;
}

/* BH_ST_PASS_REHASH. Paths begin in the order of the same bits of the hash in parts of all sizes, so the
 * pairs of neighbouring words go to neighbouring words. (On a GPU: cuda/device/stadium/rehash.h.) */
BH_FN void BH_ST(rehash_words)(void *argument, uint64_t first, uint64_t count)
{
    bh_st_rehash *job = (bh_st_rehash *)argument;
    const bh_st_geometry *g = job->geometry;
    uint64_t moved = 0, refused = 0, i;

    for (i = first; i < first + count; i++) {
        uint64_t taken = BH_ST(taken)(g, bh_read64(bh_st_at(job->from.board + i * 8)));

        for (; taken; taken &= taken - 1) {
            const uint32_t index = bh_st_index(g, bh_st_first(g, taken));
            const uint64_t slot = BH_ST(slot_at)(g, &job->from, i, index);

            if (BH_ST(place)(g, BH_READ_KEY(bh_st_at(slot)),
                             BH_VALUE_BYTES ? BH_READ_VALUE(BH_ST(value_of)(slot)) : 0))
                moved++;
            else
                refused++;
        }
    }
    bh_add64(&job->moved, moved);
    bh_add64(&job->refused, refused);
}

/* BH_ST_PASS_FULL. */
BH_FN void BH_ST(find_full)(void *argument, uint64_t first, uint64_t count)
{
    bh_st_full *job = (bh_st_full *)argument;
    const bh_st_geometry *g = job->geometry;
    const BH_KEY *keys = (const BH_KEY *)job->keys;
    uint64_t parts = 0, i;

    (void)first;
    (void)count;
    for (i = 0; i < job->count; i++) {
        const bh_hash h = bh_hash_key(keys[job->list[i]], &g->seed);

        parts |= 1ull << (bh_st_part_of(g, &h) - g->part);
    }
    job->parts = parts;
}

/* BH_ST_PASS_ERASED. */
BH_FN void BH_ST(count_erased)(void *argument, uint64_t first, uint64_t count)
{
    bh_st_erased *job = (bh_st_erased *)argument;
    const bh_st_geometry *g = job->geometry;
    uint64_t erased = 0, i;

    for (i = first; i < first + count; i++) {
        const uint64_t set = bh_st_alike(g, bh_read64(bh_st_at(job->board + i * 8)), BH_ST_ERASED);

        erased += bh_count((uint32_t)set) + bh_count((uint32_t)(set >> 32));
    }
    bh_add64(&job->erased, erased);
}

/* BH_ST_PASS_EXPORT, by tables/copy_parts.h: a bucket is the slots of a word here. */
BH_FN const unsigned char *BH_ST(exported_at)(const bh_export_part *part, uint64_t number)
{
    return bh_st_at(((const bh_st_geometry *)part->geometry)->part[part->lines].board + number * 8);
}

BH_FN uint32_t BH_ST(exported)(const bh_export_part *part, uint64_t number)
{
    const bh_st_geometry *g = (const bh_st_geometry *)part->geometry;
    uint64_t taken = BH_ST(taken)(g, bh_read64(BH_ST(exported_at)(part, number)));
    uint32_t slots = 0;

    for (; taken; taken &= taken - 1)
        slots |= 1u << bh_st_index(g, bh_st_first(g, taken));
    return bh_export_used(part, number, slots);
}

BH_FN uint64_t BH_ST(slot_out)(const bh_export_part *part, uint64_t number, uint32_t index)
{
    const bh_st_geometry *g = (const bh_st_geometry *)part->geometry;

    return BH_ST(slot_at)(g, &g->part[part->lines], number, index);
}

BH_FN const unsigned char *BH_ST(key_out)(const bh_export_part *part, uint64_t number,
                                          uint32_t index)
{
    return bh_st_at(BH_ST(slot_out)(part, number, index));
}

BH_FN const unsigned char *BH_ST(value_out)(const bh_export_part *part, uint64_t number,
                                            uint32_t index)
{
    return BH_ST(value_of)(BH_ST(slot_out)(part, number, index));
}

#define BH_COPY BH_ST
#include "tables/copy_parts.h"

/* BH_ST_PASS_PLACES. */
BH_FN void BH_ST(find_places)(void *argument, uint64_t first, uint64_t count)
{
    const bh__places *job = (const bh__places *)argument;
    const bh_st_geometry *g = (const bh_st_geometry *)job->geometry;
    const BH_KEY *keys = (const BH_KEY *)job->keys;
    const uint32_t bits = bh_first(g->whole);
    uint64_t i;

    for (i = first; i < first + count; i++)
        job->places[i] = bh_hash_place(bh_hash_key(keys[i], &g->seed).one, g->whole - 1, bits) >>
                         (32 - job->bits);
}
