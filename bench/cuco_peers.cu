/*
 * cuCollections' static_map as peers of ours; gpu_peers.h says what a peer is.
 *
 * The library is headers alone, and this file is compiled against a copy of them that CMake was told of
 * (BULKHASH_CUCO). Each configuration is an instance of `peer`: the sequence in which slots are looked at, how
 * many threads look for one key (a tile), and how many slots a thread reads at once (a window). Not every
 * combination is here, because each takes seconds to compile: tiles of 1, 2, 4 and 8, windows of 1 and 2, and
 * both sequences. The third is static_map's default.
 *
 * The library reads pairs; an iterator makes them of the two arrays that ours reads too. Nothing is thrown out
 * of here: what the library throws ends the program with a sentence.
 */
#include "gpu_peers.h"

#include <cuda/version>

#if CCCL_MAJOR_VERSION >= 3
/* CCCL 3 (CUDA 13) has no thrust::identity any more, which cuCollections of 2024 uses. */
namespace thrust
{
template <class T = void> struct identity {
    __host__ __device__ constexpr const T &operator()(const T &x) const
    {
        return x;
    }
};

template <> struct identity<void> {
    template <class T> __host__ __device__ constexpr const T &operator()(const T &x) const
    {
        return x;
    }
};
} // namespace thrust
#endif

#include <cuco/static_map.cuh>

#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace
{

const char library[] = "cuCollections";

/* Element i of two arrays as a pair. */
template <class T> struct pair_at {
    const T *keys;
    const T *values;

    __host__ __device__ cuco::pair<T, T> operator()(int64_t i) const
    {
        return {keys[i], values[i]};
    }
};

struct add {
    template <class T, cuda::thread_scope Scope>
    __device__ void operator()(cuda::atomic_ref<T, Scope> value, const T &addend) const
    {
        value.fetch_add(addend, cuda::memory_order_relaxed);
    }
};

/* Runs a part of an adapter; what it throws ends the program. */
template <class F> auto guarded(F part) noexcept
{
    try {
        return part();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "bulkhash-bench: %s cannot go on: %s\n", library, e.what());
        std::fflush(stdout);
        std::_Exit(1); /* not exit(): other threads may be at work */
    }
}

/* A configuration: keys and values of type T. */
template <class T, class Scheme, int window> class peer
{
    using map = cuco::static_map<T, T, cuco::extent<std::size_t>, cuda::thread_scope_device,
                                 thrust::equal_to<T>, Scheme,
                                 cuco::cuda_allocator<cuco::pair<T, T>>, cuco::storage<window>>;

    map table;
    cudaStream_t stream;

    peer(const gpu_peer_table &wanted, std::size_t slots)
        : table(slots, cuco::empty_key<T>{static_cast<T>(wanted.empty_key)},
                cuco::empty_value<T>{static_cast<T>(wanted.empty_value)},
                cuco::erased_key<T>{static_cast<T>(wanted.erased_key)}, {}, {}, {}, {}, {},
                static_cast<cudaStream_t>(wanted.stream)),
          stream(static_cast<cudaStream_t>(wanted.stream))
    {
    }

    void run(gpu_peer_op op, const T *keys, T *values, uint64_t n)
    {
        const auto pairs = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                                           pair_at<T>{keys, values});
        const auto last = pairs + static_cast<int64_t>(n);

        switch (op) {
        case PEER_INSERT: table.insert_async(pairs, last, stream); break;
        case PEER_ASSIGN: table.insert_or_assign_async(pairs, last, stream); break;
        case PEER_ADD: table.insert_or_apply_async(pairs, last, add{}, stream); break;
        case PEER_FIND: table.find_async(keys, keys + n, values, stream); break;
        case PEER_ERASE: table.erase_async(keys, keys + n, stream); break;
        }
    }

  public:
    static void *create(const gpu_peer_table *wanted) noexcept
    {
        return guarded([&]() -> void * {
            const double slots = static_cast<double>(wanted->keys) / wanted->fill;

            return new peer(*wanted, static_cast<std::size_t>(slots) + 1);
        });
    }

    static void destroy(void *p) noexcept
    {
        delete static_cast<peer *>(p);
    }

    static uint64_t slots(const void *p) noexcept
    {
        return static_cast<const peer *>(p)->table.capacity();
    }

    static int count(const void *p, uint64_t *keys) noexcept
    {
        const peer *t = static_cast<const peer *>(p);

        *keys = guarded([&] { return t->table.size(t->stream); });
        return static_cast<int>(cudaGetLastError());
    }

    /* The library does not look at the error of its launches. */
    static int run(void *p, gpu_peer_op op, const void *keys, void *values, uint64_t n) noexcept
    {
        guarded([&] {
            static_cast<peer *>(p)->run(op, static_cast<const T *>(keys), static_cast<T *>(values),
                                        n);
        });
        return static_cast<int>(cudaGetLastError());
    }
};

template <class T, int tile>
using linear = cuco::linear_probing<tile, cuco::default_hash_function<T>>;
template <class T, int tile>
using twice = cuco::double_hashing<tile, cuco::default_hash_function<T>>;

template <class T, class Scheme, int window>
constexpr gpu_peer configuration(const char *configured)
{
    using p = peer<T, Scheme, window>;

    return {library,    configured, sizeof(T), sizeof(T), p::create,
            p::destroy, p::slots,   p::count,  p::run};
}

} // namespace

extern "C" {

extern const gpu_peer gpu_peers[];
const gpu_peer gpu_peers[] = {
    configuration<uint32_t, twice<uint32_t, 1>, 1>("double hashing, tile 1, window 1"),
    configuration<uint32_t, linear<uint32_t, 1>, 2>("linear, tile 1, window 2"),
    configuration<uint32_t, linear<uint32_t, 4>, 1>("linear, tile 4, window 1"),
    configuration<uint32_t, twice<uint32_t, 2>, 2>("double hashing, tile 2, window 2"),
    configuration<uint32_t, linear<uint32_t, 4>, 2>("linear, tile 4, window 2"),
    configuration<uint32_t, twice<uint32_t, 8>, 1>("double hashing, tile 8, window 1"),
    configuration<uint64_t, twice<uint64_t, 1>, 1>("double hashing, tile 1, window 1"),
    configuration<uint64_t, linear<uint64_t, 1>, 2>("linear, tile 1, window 2"),
    configuration<uint64_t, linear<uint64_t, 4>, 1>("linear, tile 4, window 1"),
    configuration<uint64_t, twice<uint64_t, 2>, 2>("double hashing, tile 2, window 2"),
    configuration<uint64_t, linear<uint64_t, 4>, 2>("linear, tile 4, window 2"),
    configuration<uint64_t, twice<uint64_t, 8>, 1>("double hashing, tile 8, window 1"),
    {},
};

extern const char gpu_peers_commit[];
const char gpu_peers_commit[] = BENCH_CUCO_COMMIT;

extern const char gpu_peers_missing[];
const char gpu_peers_missing[] = "";
}
