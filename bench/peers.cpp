/*
 * Adapters around other people's hash tables; peers.h says what an adapter is.
 *
 * Each table is a class template of key and value that says what it can do, and how one key is
 * inserted, found and erased. loops<> makes the functions of struct peer of it: the loop over an
 * array is the same for all, and compiled for each, so that the library's code is inlined into it
 * as it would be for its user. A library is there when cmake/programs.cmake has found it and
 * defined BENCH_HAVE_...; those that are not there it names in BENCH_PEERS_MISSING.
 *
 * Hashes: absl and Boost scatter keys by themselves. For libcuckoo and TBB the default is
 * std::hash, which leaves an integer as it is, and both take the lowest bits; they are given
 * `scattered`, as their users are told to bring a hash of their own.
 *
 * Nothing is thrown out of here. No memory for a new table is an answer, NULL; no memory, or no
 * room, in the middle of a loop ends the program with a sentence.
 */
#include "peers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#ifdef BENCH_HAVE_LIBCUCKOO
#include <libcuckoo/cuckoohash_map.hh>
#endif
#ifdef BENCH_HAVE_TBB
#include <oneapi/tbb/concurrent_hash_map.h>
#include <oneapi/tbb/concurrent_unordered_map.h>
#endif
#ifdef BENCH_HAVE_BOOST
#include <boost/unordered/unordered_flat_map.hpp>
#endif
#ifdef BENCH_HAVE_ABSL
#include <absl/container/flat_hash_map.h>
#endif

namespace
{

/* --- from one key to arrays ---------------------------------------------------------------- */

/* What a table says of itself unless it says otherwise: one thread at a time writes, several may
 * find, keys come in any order and can be erased, and the loops do not look ahead. */
struct traits {
    /* Unused where there is no peer. */
    [[maybe_unused]] static constexpr bool threads = false, in_order = false, erases = true;
    [[maybe_unused]] static constexpr uint64_t ahead = 0;
};

template <class T> struct loops {
    using key = typename T::key;
    using value = typename T::value;

    /* Runs a part of an adapter; what it throws ends the program. */
    template <class F> static auto guarded(F part) noexcept
    {
        try {
            return part();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "bulkhash-bench: %s cannot go on: %s\n", T::name, e.what());
            std::fflush(stdout);
            std::_Exit(1); /* not exit(): other threads may be in their loops */
        }
    }

    /* Calls visit(i) for each key in turn, with the key some places later on its way to the
     * cache where the table looks ahead. */
    template <class F> static void each(const T &table, const key *keys, uint64_t n, F visit)
    {
        if constexpr (T::ahead > 0) {
            const uint64_t whole = n > T::ahead ? n - T::ahead : 0;

            for (uint64_t i = 0; i < n && i < T::ahead; i++)
                table.prefetch(keys[i]);
            for (uint64_t i = 0; i < whole; i++) {
                table.prefetch(keys[i + T::ahead]);
                visit(i);
            }
            for (uint64_t i = whole; i < n; i++)
                visit(i);
        } else {
            for (uint64_t i = 0; i < n; i++)
                visit(i);
        }
    }

    static void *create(uint64_t keys) noexcept
    {
        try {
            return new T(static_cast<std::size_t>(keys));
        } catch (const std::bad_alloc &) {
            return nullptr;
        } catch (const std::length_error &) { /* more than the library can count */
            return nullptr;
        }
    }

    static void destroy(void *table) noexcept
    {
        delete static_cast<T *>(table);
    }

    static void insert(void *table, const void *keys, const void *values, uint64_t n) noexcept
    {
        T &t = *static_cast<T *>(table);
        const key *k = static_cast<const key *>(keys);
        const value *v = static_cast<const value *>(values);

        guarded([&] {
            if constexpr (T::in_order)
                t.build(k, v, n);
            else
                each(t, k, n, [&](uint64_t i) { t.insert(k[i], v[i]); });
        });
    }

    static uint64_t find(const void *table, const void *keys, void *values, uint64_t n) noexcept
    {
        const T &t = *static_cast<const T *>(table);
        const key *k = static_cast<const key *>(keys);
        value *v = static_cast<value *>(values);

        return guarded([&] {
            uint64_t found = 0;

            each(t, k, n, [&](uint64_t i) { found += t.find(k[i], v[i]); });
            return found;
        });
    }

    static uint64_t erase(void *table, const void *keys, uint64_t n) noexcept
    {
        T &t = *static_cast<T *>(table);
        const key *k = static_cast<const key *>(keys);

        return guarded([&] {
            uint64_t erased = 0;

            each(t, k, n, [&](uint64_t i) { erased += t.erase(k[i]); });
            return erased;
        });
    }

    static constexpr auto erase_or_null() -> uint64_t (*)(void *, const void *, uint64_t)
    {
        if constexpr (T::erases)
            return erase;
        else
            return nullptr;
    }

    /* In the order of struct peer. All let several threads find. */
    static constexpr peer entry = {T::name,    T::library, sizeof(key), sizeof(value),
                                   T::threads, true,       T::in_order, create,
                                   destroy,    insert,     find,        erase_or_null()};
};

/* Both halves of a product that is twice as wide as its factors: the lowest bits, too, depend on
 * all of the key. */
template <class K> struct scattered {
    std::size_t operator()(K key) const noexcept
    {
        __extension__ using wide = unsigned __int128;
        const wide product = static_cast<wide>(key ^ 0x2545f4914f6cdd1du) * 0x9e3779b97f4a7c15u;

        return static_cast<std::size_t>(product >> 64) ^ static_cast<std::size_t>(product);
    }
};

/* --- libcuckoo ----------------------------------------------------------------------------- */

#ifdef BENCH_HAVE_LIBCUCKOO
/* Buckets of four slots; their number is a power of two. reserve() counts slots, without a margin, and keys
 * find room until about 95% of the slots are filled. So a quarter more slots than keys are reserved, which
 * with rounding up to the power of two fills at most 80% of them; and 64 more, because few buckets fill less
 * evenly. Growing would make this another measurement, so it is forbidden and would end the program. */
template <class K, class V> class cuckoo : public traits
{
  public:
    using key = K;
    using value = V;
    static constexpr const char *name = "libcuckoo", *library = "libcuckoo-dev";
    static constexpr bool threads = true;

    explicit cuckoo(std::size_t keys) : map(keys + keys / 4 + 64)
    {
        map.maximum_hashpower(map.hashpower());
    }
    void insert(K k, V v)
    {
        map.insert_or_assign(k, v);
    }
    bool find(K k, V &v) const
    {
        return map.find(k, v);
    }
    bool erase(K k)
    {
        return map.erase(k);
    }

  private:
    libcuckoo::cuckoohash_map<K, V, scattered<K>> map;
};
#endif

/* --- TBB ----------------------------------------------------------------------------------- */

#ifdef BENCH_HAVE_TBB
/* A list in the order of bit-reversed hashes, with an array of pointers into it. Several threads may insert,
 * but none may erase while others use the table (unsafe_erase), so erasing is not measured. */
template <class K, class V> class tbb_unordered_map : public traits
{
  public:
    using key = K;
    using value = V;
    static constexpr const char *name = "tbb unordered_map", *library = "libtbb-dev";
    static constexpr bool threads = true, erases = false;

    explicit tbb_unordered_map(std::size_t keys)
    {
        /* The default is four keys per bucket, with which finding takes twice as long. And
         * rehash(), as reserve() of TBB 2021.8 never returns where nothing is to be done. */
        map.max_load_factor(1);
        map.rehash(keys);
    }
    void insert(K k, V v)
    {
        const auto [at, fresh] = map.insert({k, v});

        if (!fresh) /* by two threads at once if both have this key */
            __atomic_store_n(&at->second, v, __ATOMIC_RELAXED);
    }
    bool find(K k, V &v) const
    {
        const auto at = map.find(k);

        if (at == map.end())
            return false;
        v = at->second;
        return true;
    }

  private:
    tbb::concurrent_unordered_map<K, V, scattered<K>> map;
};

/* Chains behind a lock for each bucket; each element has a lock too, which an accessor holds. */
template <class K, class V> class tbb_hash_map : public traits
{
    struct compare {
        std::size_t hash(K k) const noexcept
        {
            return scattered<K>()(k);
        }
        bool equal(K a, K b) const noexcept
        {
            return a == b;
        }
    };
    using table = tbb::concurrent_hash_map<K, V, compare>;

  public:
    using key = K;
    using value = V;
    static constexpr const char *name = "tbb hash_map", *library = "libtbb-dev";
    static constexpr bool threads = true;

    explicit tbb_hash_map(std::size_t keys) : map(keys)
    {
    }
    void insert(K k, V v)
    {
        typename table::accessor at;

        map.insert(at, k);
        at->second = v;
    }
    bool find(K k, V &v) const
    {
        typename table::const_accessor at;

        if (!map.find(at, k))
            return false;
        v = at->second;
        return true;
    }
    bool erase(K k)
    {
        return map.erase(k);
    }

  private:
    table map;
};
#endif

/* --- Boost and absl ------------------------------------------------------------------------ */

#if defined BENCH_HAVE_BOOST || defined BENCH_HAVE_ABSL
/* What the two have in common. */
template <class Map> class flat : public traits
{
  public:
    using key = typename Map::key_type;
    using value = typename Map::mapped_type;

    explicit flat(std::size_t keys, std::size_t buckets = 0) : map(buckets)
    {
        map.reserve(keys);
    }
    void insert(key k, value v)
    {
        map.insert_or_assign(k, v);
    }
    bool find(key k, value &v) const
    {
        const auto at = map.find(k);

        if (at == map.end())
            return false;
        v = at->second;
        return true;
    }
    bool erase(key k)
    {
        return map.erase(k) != 0;
    }

  protected:
    Map map;
};
#endif

#ifdef BENCH_HAVE_BOOST
template <class K, class V> class boost_flat : public flat<boost::unordered_flat_map<K, V>>
{
  public:
    using flat<boost::unordered_flat_map<K, V>>::flat;
    static constexpr const char *name = "boost", *library = "libboost1.81-dev";
};
#endif

#ifdef BENCH_HAVE_ABSL
/* Made with the buckets that reserve() would ask for, at most 7/8 full, so that reserve() has nothing to do:
 * a table whose reserve() finds no memory cannot be destroyed. */
template <class K, class V> class absl_flat : public flat<absl::flat_hash_map<K, V>>
{
  public:
    static constexpr const char *name = "absl", *library = "libabsl-dev";

    explicit absl_flat(std::size_t keys)
        : flat<absl::flat_hash_map<K, V>>(keys, keys ? keys + (keys - 1) / 7 : 0)
    {
    }
};

/* The same table by a user who knows its arrays: absl offers prefetch(key) for this. */
template <class K, class V> class absl_prefetch : public absl_flat<K, V>
{
  public:
    using absl_flat<K, V>::absl_flat;
    static constexpr const char *name = "absl prefetch";
    /* With 2^24 pairs, in pages of 4 KiB and of 2 MiB alike, 12 to 32 came out the same, 1.5
     * to 2.5 times as fast as no look-ahead; 4 and 48 were slower. */
    static constexpr uint64_t ahead = 24;

    void prefetch(K k) const
    {
        this->map.prefetch(k);
    }
};
#endif

/* --- sorting ------------------------------------------------------------------------------- */

/* No hash table, but a sorted array, which people use instead of one. The keys are distinct. Measured with
 * 2^22 keys, a binary search without branches was no faster than this one: with a branch the processor
 * speculates, and loads the next line meanwhile. */
template <class K, class V> class sorted : public traits
{
  public:
    using key = K;
    using value = V;
    static constexpr const char *name = "sort + search", *library = "libstdc++-dev";
    static constexpr bool in_order = true, erases = false;

    explicit sorted(std::size_t keys)
    {
        pairs.reserve(keys);
    }
    void build(const K *keys, const V *values, uint64_t n)
    {
        for (uint64_t i = 0; i < n; i++)
            pairs.emplace_back(keys[i], values[i]);
        std::sort(pairs.begin(), pairs.end(),
                  [](const pair &a, const pair &b) { return a.first < b.first; });
    }
    bool find(K k, V &v) const
    {
        const auto at = std::lower_bound(pairs.begin(), pairs.end(), k,
                                         [](const pair &a, K b) { return a.first < b; });
        if (at == pairs.end() || at->first != k)
            return false;
        v = at->second;
        return true;
    }

  private:
    using pair = std::pair<K, V>;
    std::vector<pair> pairs;
};

} /* namespace */

/* --- the list ------------------------------------------------------------------------------ */

#define BOTH_WIDTHS(table)                                                                         \
    loops<table<uint32_t, uint32_t>>::entry, loops<table<uint64_t, uint64_t>>::entry

const peer peers[] = {
#ifdef BENCH_HAVE_LIBCUCKOO
    BOTH_WIDTHS(cuckoo),
#endif
#ifdef BENCH_HAVE_TBB
    BOTH_WIDTHS(tbb_unordered_map),
    BOTH_WIDTHS(tbb_hash_map),
#endif
#ifdef BENCH_HAVE_BOOST
    BOTH_WIDTHS(boost_flat),
#endif
#ifdef BENCH_HAVE_ABSL
    BOTH_WIDTHS(absl_flat),
    BOTH_WIDTHS(absl_prefetch),
#endif
    BOTH_WIDTHS(sorted),
    peer{},
};

const char peers_missing[] = BENCH_PEERS_MISSING;
