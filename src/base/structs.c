/* Structs of programs that were compiled against an older header: see structs.h. */
#include "base/structs.h"

#include "base/error.h"
#include "bulkhash/experimental.h"

/*
 * The structs, each with its last field, and behind that the sizes that it had in older versions, from the
 * newest of them to 0.2, and 0. A struct that grows moves its last field of today to that list:
 *
 *     BH_SIZES(table_options, new_field, BH_SIZE_TO(bh_table_options, hashfight.tail_keys), 0);
 */
#define BH_SIZES(type, last, ...)                                                                  \
    _Static_assert(BH_SIZE_TO(bh_##type, last) == sizeof(bh_##type), "the last field is another"); \
    static const uint64_t type##_sizes[] = {BH_SIZE_TO(bh_##type, last), __VA_ARGS__};             \
    const bh__struct bh__##type##_struct = {"bh_" #type, type##_sizes}

BH_SIZES(context_options, cuda_stream, 0);
BH_SIZES(context_info, pages, 0);
BH_SIZES(system, barrier, BH_SIZE_TO(bh_system, environment), 0);
BH_SIZES(table_options, stadium.file_path, BH_SIZE_TO(bh_table_options, dachash.reserved), 0);
BH_SIZES(experimental_options, regions, 0);
BH_SIZES(table_stats, times_alone, BH_SIZE_TO(bh_table_stats, tickets_erased),
         BH_SIZE_TO(bh_table_stats, nodes_free), BH_SIZE_TO(bh_table_stats, bytes_peak), 0);

/* Every such struct begins with it. */
static uint64_t size_of(const void *given)
{
    uint64_t size;

    memcpy(&size, given, sizeof size);
    return size;
}

bh_status bh__check_struct(const bh__struct *what, const void *given)
{
    const uint64_t size = size_of(given);
    const uint64_t *known;

    for (known = what->sizes; *known; known++)
        if (*known == size)
            return BH_OK;
    return bh__fail(BH_ERR_ARGUMENT,
                    "%s.struct_size is %llu and this library knows %llu: set it to the size of "
                    "the struct, or call its init function",
                    what->name, (unsigned long long)size, (unsigned long long)what->sizes[0]);
}

bh_status bh__take_struct(const bh__struct *what, void *to, const void *given)
{
    const uint64_t whole = what->sizes[0];
    const bh_status status = bh__check_struct(what, given);

    if (status)
        return status;
    memcpy(to, given, size_of(given));
    memcpy(to, &whole, sizeof whole);
    return BH_OK;
}

void bh__give_struct(void *to, const void *all)
{
    bh__init_struct(to, size_of(to), all);
}
