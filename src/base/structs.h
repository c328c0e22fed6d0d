/*
 * The public structs that begin with struct_size. A program hands over the structs that it was compiled with,
 * which may be shorter than this library's, because a struct grows at its end:
 *
 *     the program's     | struct_size | fields of 0.2 |
 *     this library's    | struct_size | fields of 0.2 | fields that came later |
 *
 * Options that the program does not know get their defaults; of a struct that the program receives, it gets
 * as much as it has room for. A size that no version had is refused, and so is a larger one: it may hold
 * options that this library does not know.
 */
#ifndef BH_BASE_STRUCTS_H
#define BH_BASE_STRUCTS_H

#include <string.h>

#include "bulkhash/bulkhash.h"

typedef struct bh__struct {
    const char *name;
    const uint64_t
        *sizes; /* of today, then of older versions, the newest first; 0 after the last */
} bh__struct;

/* The size of a struct in the version in which `field` was its last one. */
#define BH_SIZE_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

extern const bh__struct bh__context_options_struct;
extern const bh__struct bh__context_info_struct;
extern const bh__struct bh__system_struct;
extern const bh__struct bh__table_options_struct;
extern const bh__struct bh__experimental_options_struct;
extern const bh__struct bh__table_stats_struct;

/* Whether the struct at `given` has a size that a version had. Writes the error sentence. */
bh_status bh__check_struct(const bh__struct *what, const void *given);

/* Takes options: `to` holds the defaults, and is as large as this library's struct, also afterwards. */
bh_status bh__take_struct(const bh__struct *what, void *to, const void *given);

/* Fills `to`, of which struct_size is set and has been checked, with as much of `all` as it has room
 * for. */
void bh__give_struct(void *to, const void *all);

/* Fills `struct_size` bytes at `to`, in which nothing is set yet, for the init functions. `all` is a whole
 * struct. */
static inline void bh__init_struct(void *to, uint64_t struct_size, const void *all)
{
    uint64_t whole;

    memcpy(&whole, all, sizeof whole);
    memcpy(to, all, struct_size < whole ? struct_size : whole);
    if (struct_size >= sizeof struct_size)
        memcpy(to, &struct_size, sizeof struct_size);
}

#endif
