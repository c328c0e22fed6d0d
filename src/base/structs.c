/* Structs of programs that were compiled against an older header: see structs.h. */
#include "base/structs.h"

#include "base/error.h"
#include "bulkhash/experimental.h"

/* The last field of each struct in 0.2 and in every later version that has appended some. A struct whose
 * size has no entry here is refused even when it comes from the header of today. */
#define BH_SIZES(type, ...)                                                                        \
    static const uint64_t type##_sizes[] = {__VA_ARGS__, 0};                                       \
    const bh__struct bh__##type##_struct = {"bh_" #type, type##_sizes}

BH_SIZES(context_options, BH_SIZE_TO(bh_context_options, cuda_stream));
BH_SIZES(context_info, BH_SIZE_TO(bh_context_info, pages));
BH_SIZES(system, BH_SIZE_TO(bh_system, environment));
BH_SIZES(table_options, BH_SIZE_TO(bh_table_options, hashfight));
BH_SIZES(experimental_options, BH_SIZE_TO(bh_experimental_options, reserved));
BH_SIZES(table_stats, BH_SIZE_TO(bh_table_stats, bytes_peak));

/* Every such struct begins with it. */
static uint64_t size_of(const void *given)
{
    uint64_t size;

    memcpy(&size, given, sizeof size);
    return size;
}

static uint64_t newest(const bh__struct *what)
{
    const uint64_t *size = what->sizes;

    while (size[1])
        size++;
    return *size;
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
                    what->name, (unsigned long long)size, (unsigned long long)newest(what));
}

bh_status bh__take_struct(const bh__struct *what, void *to, const void *given)
{
    const uint64_t whole = newest(what);
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
