/*
 * Stadium hashing, the board: tickets of a word, all looked at together; paths; bounds; locks. layout.h draws
 * them. An include-template that ops.h includes; nothing in it depends on widths.
 *
 * A set of tickets of a word is a word that has the highest bit of each of them.
 */
#ifndef BH_TABLES_STADIUM_BOARD_H
#define BH_TABLES_STADIUM_BOARD_H

/* Bytes of a region: a line or, on a GPU, a sector, the least that it reads. */
#define BH_ST_REGION (BH_BRINGS ? 64u : 32u)

BH_FN unsigned char *bh_st_at(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

/* The tickets of a word that are 0. (Where the lower bits of a ticket are 0, adding the largest number of so
 * many bits does not carry into its highest bit.) */
BH_FN uint64_t bh_st_zeros(const bh_st_geometry *g, uint64_t word)
{
    const uint64_t lower = g->highs - g->lows;

    return ~(((word & lower) + lower) | word | lower) & g->highs;
}

/* The tickets that are a number. */
BH_FN uint64_t bh_st_alike(const bh_st_geometry *g, uint64_t word, uint32_t ticket)
{
    return bh_st_zeros(g, word ^ ticket * g->lows);
}

/* Where the first ticket of a set begins, in bits; the set is not empty. */
BH_FN uint32_t bh_st_first(const bh_st_geometry *g, uint64_t set)
{
    return bh_first64(set) - (g->width - 1);
}

/* The ticket that begins at a bit. */
BH_FN uint32_t bh_st_ticket(const bh_st_geometry *g, uint64_t word, uint32_t bit)
{
    return (uint32_t)(word >> bit) & ((1u << g->width) - 1);
}

/* How many tickets of a word are before the one that begins at a bit. */
BH_FN uint32_t bh_st_index(const bh_st_geometry *g, uint32_t bit)
{
    return bit * g->by_width >> 7;
}

BH_FN uint32_t bh_st_ready(const bh_st_geometry *g, const bh_hash *h)
{
    return 3 + 2 * (((uint32_t)h->two >> 16) * g->infos >> 16);
}

BH_FN const bh_st_part *bh_st_part_of(const bh_st_geometry *g, const bh_hash *h)
{
    uint32_t i = (uint32_t)h->one & (2 * g->whole - 1);

    i -= i < g->parts ? 0 : g->whole;
    return &g->part[i];
}

/* A place on a path. */
typedef struct bh_st_path {
    uint64_t unit;  /* the line of the board, or the slot */
    uint64_t steps; /* words, or slots, before it on the path */
} bh_st_path;

BH_FN bh_st_path bh_st_begin(const bh_st_part *part, const bh_hash *h)
{
    bh_st_path path;

    path.unit = bh_hash_range(h->one, part->units);
    path.steps = 0;
    return path;
}

/* The number of the step-th word of a path within its line. On a GPU the half line comes first that it begins in: it
 * is what a GPU reads at once. */
BH_FN uint64_t bh_st_within(uint64_t start, uint64_t step)
{
    if (BH_BRINGS || BH_ST_WORDS < 8)
        return (start + step) & (BH_ST_WORDS - 1);
    return ((start ^ step) & 4) | ((start + step) & 3);
}

/* The word that a slot's ticket is in: slot / group without a division. What by_group is too large by is less than
 * group / 2^64 of it, so the product is right for slots below 2^59. */
BH_FN uint64_t bh_st_word_of_slot(const bh_st_geometry *g, uint64_t slot)
{
    uint64_t word;

    (void)bh_multiply(slot, g->by_group, &word);
    return word;
}

/* The number of the word that a path is at. */
BH_FN uint64_t bh_st_word(const bh_st_geometry *g, const bh_st_path *path, const bh_hash *h)
{
    if (g->by_slot)
        return bh_st_word_of_slot(g, path->unit);
    return path->unit * BH_ST_WORDS + bh_st_within(h->two, path->steps);
}

/* The tickets of that word that are on the path now. */
BH_FN uint64_t bh_st_considered(const bh_st_geometry *g, const bh_st_path *path)
{
    if (!g->by_slot)
        return g->highs;
    return 1ull << ((path->unit - bh_st_word_of_slot(g, path->unit) * g->group) * g->width +
                    g->width - 1);
}

/* The line behind a line on a path or, by slot, the slot behind a slot. */
BH_FN uint64_t bh_st_next_unit(const bh_st_part *part, uint64_t unit, const bh_hash *h)
{
    unit += 1 + bh_hash_range(h->two, part->units - 1);
    return unit < part->units ? unit : unit - part->units;
}

/* Moves on to the next line or, by slot, slot; answers 0 at the end, when all slots of the part have been on the
 * path, which has `most` steps. */
BH_FN int bh_st_next_line(const bh_st_part *part, bh_st_path *path, const bh_hash *h, uint64_t most)
{
    if (path->steps == most)
        return 0;
    path->unit = bh_st_next_unit(part, path->unit, h);
    return 1;
}

/* Moves on by a step. */
BH_FN int bh_st_go_on(const bh_st_geometry *g, const bh_st_part *part, bh_st_path *path,
                      const bh_hash *h)
{
    path->steps++;
    if (g->by_slot)
        return bh_st_next_line(part, path, h, part->units);
    return path->steps % BH_ST_WORDS || bh_st_next_line(part, path, h, part->units * BH_ST_WORDS);
}

/* The line in which a path begins. */
BH_FN uint64_t bh_st_home(const bh_st_geometry *g, const bh_st_part *part, const bh_hash *h)
{
    const bh_st_path path = bh_st_begin(part, h);

    return bh_st_word(g, &path, h) / BH_ST_WORDS;
}

BH_FN uint32_t bh_st_bound(const bh_st_part *part, uint64_t line)
{
    const uint64_t bounds = bh_load64(bh_st_at(part->bounds + (line & ~7ull)));

    return (uint32_t)(bounds >> line % 8 * 8) & 255;
}

/* Whether a search that has seen a word in vain may end there. */
BH_FN int bh_st_is_bound(const bh_st_part *part, uint64_t line, uint64_t steps)
{
    const uint32_t bound = bh_st_bound(part, line);

    return bound <= steps && bound < BH_ST_UNBOUNDED;
}

/* Sees to it that the bound at an address is at least so much; answers 0 when others changed bounds beside it: try
 * again. */
BH_FN int bh_st_raise_at(uint32_t hints, uint64_t bound, uint64_t steps)
{
    unsigned char *bounds = bh_st_at(bound & ~7ull);
    const uint32_t shift = (uint32_t)(bound % 8) * 8;
    const uint64_t wanted = steps < BH_ST_UNBOUNDED ? steps : BH_ST_UNBOUNDED;
    const uint64_t before = bh_peek64(bounds);

    if ((before >> shift & 255) >= wanted)
        return 1;
    return bh_swap_in64(hints, bounds, before, (before & ~(255ull << shift)) | wanted << shift);
}

/* The same for the bound of a line. */
BH_FN int bh_st_raise(uint32_t hints, const bh_st_part *part, uint64_t line, uint64_t steps)
{
    return bh_st_raise_at(hints, part->bounds + line, steps);
}

/* A lock and a stamp, side by side: of a key, and of a word of a board. */
BH_FN uint64_t bh_st_lock_at(const bh_st_geometry *g, uint64_t two)
{
    return g->locks + (two >> 32 & g->lock_mask) * 16;
}

BH_FN unsigned char *bh_st_lock_of(const bh_st_geometry *g, const bh_hash *h)
{
    return bh_st_at(bh_st_lock_at(g, h->two));
}

BH_FN unsigned char *bh_st_stamp_of(const bh_st_geometry *g, uint64_t word)
{
    return bh_st_at(g->locks + (word / 8 & g->lock_mask) * 16 + 8);
}

BH_FN int bh_st_lock(uint32_t hints, unsigned char *lock)
{
    return bh_load64(lock) == 0 && bh_swap_in64(hints, lock, 0, 1);
}

BH_FN void bh_st_unlock(unsigned char *lock)
{
    bh_store64(lock, 0);
}

BH_FN bh_region bh_st_region(uint64_t address)
{
    bh_region region;

    region.offset = address & ~(uint64_t)(BH_ST_REGION - 1);
    region.bytes = BH_ST_REGION;
    region.tier = BH_TIER_NEAR;
    return region;
}

#endif
