/*
 * Adapters around other people's sorting; sort_peers.h says what an adapter is. Each calls its
 * library as its user would: parallel_sort with a comparison of keys, spreadsort with the key's bits
 * too, which is what makes it a radix sort.
 *
 * A library is there when cmake/programs.cmake has found it and defined BENCH_HAVE_...
 */
#include "sort_peers.h"

#ifdef BENCH_HAVE_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_sort.h>
#endif
#ifdef BENCH_HAVE_SPREADSORT
#include <boost/sort/spreadsort/integer_sort.hpp>
#endif

namespace
{

template <class K> struct pair {
    K key;
    K payload;
};

template <class K> struct less {
    bool operator()(const pair<K> &a, const pair<K> &b) const
    {
        return a.key < b.key;
    }
};

#ifdef BENCH_HAVE_TBB
template <class K> void tbb_sort(void *pairs, uint64_t n, uint32_t threads) noexcept
{
    pair<K> *begin = static_cast<pair<K> *>(pairs);
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);

    tbb::parallel_sort(begin, begin + n, less<K>());
}
#endif

#ifdef BENCH_HAVE_SPREADSORT
template <class K> struct shifted {
    K operator()(const pair<K> &a, unsigned bits) const
    {
        return a.key >> bits;
    }
};

template <class K> void spread_sort(void *pairs, uint64_t n, uint32_t) noexcept
{
    pair<K> *begin = static_cast<pair<K> *>(pairs);

    boost::sort::spreadsort::integer_sort(begin, begin + n, shifted<K>(), less<K>());
}
#endif

} /* namespace */

#define BOTH_WIDTHS(name, library, parallel, sort)                                                 \
    {name, library, 4, 4, parallel, sort<uint32_t>},                                               \
    {                                                                                              \
        name, library, 8, 8, parallel, sort<uint64_t>                                              \
    }

const sort_peer sort_peers[] = {
#ifdef BENCH_HAVE_TBB
    BOTH_WIDTHS("tbb parallel_sort", "libtbb-dev", 1, tbb_sort),
#endif
#ifdef BENCH_HAVE_SPREADSORT
    BOTH_WIDTHS("boost spreadsort", "libboost1.81-dev", 0, spread_sort),
#endif
    sort_peer{},
};
