/*
 * The data-parallel primitives (primitives/primitives.h) on a GPU: CUB does the work, and what is
 * here fits it to the interface.
 *
 * Everything runs in the context's stream. Temporary memory is allocated and freed in the order of the
 * stream too, so freeing it does not wait. A number that a primitive answers (how many, the sum) is
 * copied to the caller's variable and waited for; primitives without such a number return as soon as their
 * work is queued. Counts are 64-bit.
 *
 * Errors: where there is no memory a primitive answers 0, and nothing has been written (but by
 * reduce_by_key to its outputs); a scatter of a partition that is refused does the same. Any other error is
 * noted in `lost` of the place: the table's later calls say that the GPU has failed.
 */
#define BH_TARGET_CUDA 1
#include "targets/target.h"

#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "base/atomic.h"
#include "cuda/device/gpu.h"
#include "primitives/combine.h"
#include "primitives/hash.h"

namespace
{

/* ---------------------------------------------------------------------------------------------
 * where it runs
 * --------------------------------------------------------------------------------------------- */

/* One call of a primitive: the GPU, its temporary memory, and whether all went well so far. */
class run
{
  public:
    explicit run(const bh__where *where)
        : place((const bh__cuda_place *)where->device), stream(place->gpu->stream),
          here(place->gpu->device), failed(0)
    {
        failed = bh__atomic_load(place->lost, __ATOMIC_RELAXED);
        if (!failed)
            note((cudaError_t)here.error);
        (void)cudaGetLastError(); /* launches answer the last error, also one of an earlier call */
    }

    ~run()
    {
        while (taken)
            (void)cudaFreeAsync(memory[--taken], stream);
    }

    run(const run &) = delete;
    run &operator=(const run &) = delete;

    int ok() const
    {
        return !failed;
    }

    /* Enters an error; answers whether there is none. */
    int note(cudaError_t error)
    {
        if (error && !failed) {
            failed = (int)error;
            if (error == cudaErrorMemoryAllocation)
                (void)cudaGetLastError();
            else
                lose();
        }
        return !failed;
    }

    /* Notes an error that has no other way to the caller. */
    void lose()
    {
        if (!bh__atomic_load(place->lost, __ATOMIC_RELAXED))
            bh__atomic_store(place->lost, failed, __ATOMIC_RELAXED);
    }

    /* Enters the error of a launch; answers whether there is none. */
    int launched()
    {
        return note(cudaGetLastError());
    }

    /* Memory until the call returns; NULL when something has failed. */
    void *take(uint64_t bytes)
    {
        void *more = nullptr;

        if (failed || !note(cudaMallocFromPoolAsync(&more, bytes ? bytes : 1,
                                                    place->gpu->pool[BH_MEMORY_CALL], stream)))
            return nullptr;
        memory[taken++] = more;
        return more;
    }

    /* Copies a word to the caller's variable and waits. */
    int answer(void *to, const void *from, uint64_t bytes)
    {
        return ok() && note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream)) &&
               note(cudaStreamSynchronize(stream));
    }

    /* Calls a function of CUB as it wants it: once to ask how much memory it needs, and once to run. */
    template <typename F> int cub(F function)
    {
        size_t bytes = 0;
        void *temporary;

        if (failed || !note(function(nullptr, bytes)))
            return 0;
        temporary = take(bytes);
        return temporary && note(function(temporary, bytes));
    }

    const bh__cuda_place *const place;
    const cudaStream_t stream;

  private:
    on_device here;
    int failed;
    void *memory[8];
    uint32_t taken = 0;
};

__device__ __forceinline__ uint64_t this_thread()
{
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

/* Calls the function with a word of `bytes` bytes: 4 or 8. */
template <typename F> auto of_width(uint32_t bytes, F function)
{
    return bytes == 4 ? function((uint32_t)0) : function((uint64_t)0);
}

template <typename F> auto of_any_width(uint32_t bytes, F function)
{
    return bytes == 1 ? function((uint8_t)0) : of_width(bytes, function);
}

/* ---------------------------------------------------------------------------------------------
 * along an array
 * --------------------------------------------------------------------------------------------- */

struct combine {
    bh_op op;

    /* Combines two words of one width. */
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return (T)bh_combine((uint32_t)op, sizeof(T), a, b);
    }

    __device__ uint64_t operator()(uint64_t a, uint32_t b) const
    {
        return (*this)(a, (uint64_t)b);
    }
};

uint64_t reduce(const bh__where *where, bh_op op, const void *values, uint32_t value_bytes,
                uint64_t n)
{
    const uint64_t none = op == BH_MIN ? UINT64_MAX : 0;
    uint64_t result = 0, *out;
    run r(where);

    if (!n)
        return none;
    out = (uint64_t *)r.take(sizeof *out);
    of_width(value_bytes, [&](auto word) {
        typedef decltype(word) value;
        return r.cub([&](void *temporary, size_t &bytes) {
            return cub::DeviceReduce::Reduce(temporary, bytes, (const value *)values, out, n,
                                             combine{op}, none, r.stream);
        });
    });
    /* reduce has no other way to say that there was no memory. */
    if (!r.answer(&result, out, sizeof result))
        r.lose();
    return result;
}

struct widen {
    template <typename T> __host__ __device__ uint64_t operator()(T value) const
    {
        return value;
    }
};

/* The total is the last sum plus the last value; where sums overwrite values, the last value must be kept
 * beforehand. */
template <typename T> __global__ void keep_last(const T *values, uint64_t n, uint64_t *kept)
{
    *kept = values[n - 1];
}

__global__ void add_last(const uint64_t *sums, uint64_t n, uint64_t *kept)
{
    *kept += sums[n - 1];
}

int scan(const bh__where *where, const void *values, uint32_t value_bytes, uint64_t n,
         uint64_t start, uint64_t *sums, uint64_t *total)
{
    run r(where);
    uint64_t *kept;

    if (total)
        *total = n ? 0 : start;
    if (!n)
        return 1;
    kept = (uint64_t *)r.take(sizeof *kept);
    return kept && of_any_width(value_bytes, [&](auto word) {
               typedef decltype(word) value;
               const auto from = thrust::make_transform_iterator((const value *)values, widen{});

               keep_last<<<1, 1, 0, r.stream>>>((const value *)values, n, kept);
               if (!r.launched() || !r.cub([&](void *temporary, size_t &bytes) {
                       return cub::DeviceScan::ExclusiveScan(temporary, bytes, from, sums,
                                                             combine{BH_ADD}, start, n, r.stream);
                   }))
                   return 0;
               if (!total)
                   return 1;
               add_last<<<1, 1, 0, r.stream>>>(sums, n, kept);
               return (int)(r.launched() && r.answer(total, kept, sizeof *total));
           });
}

int compact(const bh__where *where, const uint8_t *flags, const void *values, uint32_t value_bytes,
            uint64_t n, void *out, uint64_t *kept)
{
    run r(where);
    int64_t *count;

    *kept = 0;
    if (!n)
        return 1;
    count = (int64_t *)r.take(sizeof *count);
    return of_width(value_bytes, [&](auto word) {
        typedef decltype(word) value;
        const auto select = [&](auto from) {
            return r.cub([&](void *temporary, size_t &bytes) {
                return cub::DeviceSelect::Flagged(temporary, bytes, from, flags, (value *)out,
                                                  count, (int64_t)n, r.stream);
            });
        };

        return (values ? select((const value *)values)
                       : select(thrust::counting_iterator<value>(0))) &&
               r.answer(kept, count, sizeof *kept);
    });
}

/* ---------------------------------------------------------------------------------------------
 * apart
 * --------------------------------------------------------------------------------------------- */

template <typename V, typename I>
__global__ void gather_kernel(const V *values, const I *indexes, uint64_t n, V *out)
{
    if (this_thread() < n)
        out[this_thread()] = values[indexes[this_thread()]];
}

template <typename V, typename I>
__global__ void scatter_kernel(const V *values, const I *indexes, uint64_t n, V *out)
{
    if (this_thread() < n)
        out[indexes[this_thread()]] = values[this_thread()];
}

/* Calls a function that launches a kernel for values and indexes of these widths. */
template <typename F>
void along_indexes(const bh__where *where, uint32_t value_bytes, uint32_t index_bytes, uint64_t n,
                   F launch)
{
    run r(where);

    if (!n || !r.ok())
        return;
    of_any_width(value_bytes, [&](auto value) {
        return of_width(index_bytes, [&](auto index) {
            launch(value, index, r.stream);
            return r.launched();
        });
    });
}

void gather(const bh__where *where, const void *values, uint32_t value_bytes, const void *indexes,
            uint32_t index_bytes, uint64_t n, void *out)
{
    along_indexes(where, value_bytes, index_bytes, n, [&](auto v, auto i, cudaStream_t stream) {
        gather_kernel<<<bh__gpu_blocks(n), BH_CUDA_BLOCK, 0, stream>>>(
            (const decltype(v) *)values, (const decltype(i) *)indexes, n, (decltype(v) *)out);
    });
}

void scatter(const bh__where *where, const void *values, uint32_t value_bytes, const void *indexes,
             uint32_t index_bytes, uint64_t n, void *out)
{
    along_indexes(where, value_bytes, index_bytes, n, [&](auto v, auto i, cudaStream_t stream) {
        scatter_kernel<<<bh__gpu_blocks(n), BH_CUDA_BLOCK, 0, stream>>>(
            (const decltype(v) *)values, (const decltype(i) *)indexes, n, (decltype(v) *)out);
    });
}

template <typename K> __device__ uint64_t smaller_than(const K *keys, uint64_t n, K wanted)
{
    uint64_t first = 0, end = n;

    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;

        if (keys[middle] < wanted)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

template <typename K>
__global__ void lower_bound_kernel(const K *keys, uint64_t n, const K *wanted, uint64_t count,
                                   uint64_t *positions)
{
    if (this_thread() < count)
        positions[this_thread()] = smaller_than(keys, n, wanted[this_thread()]);
}

void lower_bound(const bh__where *where, const void *keys, uint32_t key_bytes, uint64_t n,
                 const void *wanted, uint64_t count, uint64_t *positions)
{
    run r(where);

    if (!count || !r.ok())
        return;
    of_width(key_bytes, [&](auto word) {
        typedef decltype(word) key;

        lower_bound_kernel<<<bh__gpu_blocks(count), BH_CUDA_BLOCK, 0, r.stream>>>(
            (const key *)keys, n, (const key *)wanted, count, positions);
        return r.launched();
    });
}

/* ---------------------------------------------------------------------------------------------
 * partition
 *
 * A radix sort by the number of the part, of which 8 bits are one pass, over rows of a key and its
 * payload side by side. Its temporary memory holds the numbers and the rows, each twice, until the
 * caller has said where parts go; then rows are taken apart.
 * --------------------------------------------------------------------------------------------- */

/* Rows: a key alone, key and payload in 8 bytes, or both in 16. */
struct row16 {
    uint64_t key;
    uint64_t payload;
};

__device__ void row_set(uint32_t &row, uint64_t key, uint64_t)
{
    row = (uint32_t)key;
}

__device__ void row_set(uint64_t &row, uint64_t key, uint64_t payload)
{
    row = key | payload << 32;
}

__device__ void row_set(row16 &row, uint64_t key, uint64_t payload)
{
    row.key = key;
    row.payload = payload;
}

/* The key of a row. (Where a row of 8 bytes is all key, nobody asks for its payload.) */
__device__ uint64_t row_key(const uint32_t &row)
{
    return row;
}

__device__ uint64_t row_key(const uint64_t &row)
{
    return row;
}

__device__ uint64_t row_key(const row16 &row)
{
    return row.key;
}

__device__ uint64_t row_payload(const uint32_t &)
{
    return 0;
}

__device__ uint64_t row_payload(const uint64_t &row)
{
    return row >> 32;
}

__device__ uint64_t row_payload(const row16 &row)
{
    return row.payload;
}

__device__ __forceinline__ uint64_t word_at(const void *array, uint32_t bytes, uint64_t i)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

__device__ __forceinline__ void word_set(uint64_t array, uint32_t bytes, uint64_t i, uint64_t word)
{
    if (bytes == 4)
        ((uint32_t *)array)[i] = (uint32_t)word;
    else
        ((uint64_t *)array)[i] = word;
}

/* What the kernels of a partition need of it, by value. */
struct parts_of {
    uint32_t parts;
    uint32_t shift;
    uint32_t hashed;
    uint32_t key_bytes;
    uint32_t payload_bytes;
    bh_seed seed;
    const void *keys;
    const void *payloads;
    const uint32_t *numbers;
    uint64_t n;
};

template <typename R> __global__ void partition_rows(const parts_of p, uint16_t *part, R *rows)
{
    const uint64_t i = this_thread();
    uint64_t key;

    if (i >= p.n)
        return;
    key = word_at(p.keys, p.key_bytes, i);
    part[i] = (uint16_t)(p.hashed ? bh_hash_range(bh_hash_key(key, &p.seed).one, p.parts)
                                  : (p.numbers ? p.numbers[i] : key) >> p.shift & (p.parts - 1));
    row_set(rows[i], key,
            !p.payload_bytes ? 0
            : p.payloads     ? word_at(p.payloads, p.payload_bytes, i)
                             : i);
}

/* From sorted numbers of parts: where each begins, and how long it is. */
__global__ void partition_bounds(const uint16_t *part, uint64_t n, uint32_t parts, uint64_t *first,
                                 uint64_t *counts)
{
    const uint64_t i = this_thread();

    if (i >= parts)
        return;
    first[i] = smaller_than(part, n, (uint16_t)i);
    counts[i] = (i + 1 < parts ? smaller_than(part, n, (uint16_t)(i + 1)) : n) - first[i];
}

template <typename R>
__global__ void partition_out(const parts_of p, const uint16_t *part, const R *rows,
                              const uint64_t *first, const uint64_t *keys_at,
                              const uint64_t *payloads_at)
{
    const uint64_t i = this_thread();
    uint64_t to;

    if (i >= p.n)
        return;
    to = i - first[part[i]];
    word_set(keys_at[part[i]], p.key_bytes, to, row_key(rows[i]));
    if (p.payload_bytes)
        word_set(payloads_at[part[i]], p.payload_bytes, to, row_payload(rows[i]));
}

/* The memory of a partition, `tasks` of it on the device. */
struct partition_memory {
    uint64_t *first;
    uint16_t *part[2];
    unsigned char *rows[2];
    uint64_t bytes;
};

uint32_t partition_row_bytes(const bh__partition *p)
{
    if (p->payload_bytes == 0)
        return p->key_bytes;
    return p->key_bytes + p->payload_bytes == 8 ? 8 : 16;
}

partition_memory partition_cut(const bh__partition *p)
{
    unsigned char *at = (unsigned char *)p->tasks;
    const auto next = [&](uint64_t bytes) {
        unsigned char *here = at;

        at += (bytes + 255) / 256 * 256;
        return here;
    };
    partition_memory m;

    m.first = (uint64_t *)next((uint64_t)p->how.parts * 8);
    for (int i = 0; i < 2; i++) {
        m.part[i] = (uint16_t *)next(p->n * 2);
        m.rows[i] = next(p->n * partition_row_bytes(p));
    }
    m.bytes = (uint64_t)(at - (unsigned char *)p->tasks);
    return m;
}

parts_of partition_parts(const bh__partition *p)
{
    parts_of of = {p->how.parts, p->how.shift,     p->how.seed != nullptr,
                   p->key_bytes, p->payload_bytes, {0, 0, 0},
                   p->keys,      p->payloads,      p->how.numbers,
                   p->n};

    if (p->how.seed)
        of.seed = *p->how.seed;
    return of;
}

template <typename F> int of_row(const bh__partition *p, F function)
{
    switch (partition_row_bytes(p)) {
    case 4: return function((uint32_t)0);
    case 8: return function((uint64_t)0);
    default: return function(row16{0, 0});
    }
}

/* What partition_count leaves for partition_scatter: which half of the memory has the sorted rows. */
#define PARTITION_HALF(p) ((p)->rows_per_task)

int partition_sort(run &r, bh__partition *p)
{
    const partition_memory m = partition_cut(p);
    int bits = 0;

    while (1u << bits < p->how.parts)
        bits++;
    return of_row(p, [&](auto word) {
        typedef decltype(word) row;
        cub::DoubleBuffer<uint16_t> part(m.part[0], m.part[1]);
        cub::DoubleBuffer<row> rows((row *)m.rows[0], (row *)m.rows[1]);

        partition_rows<<<bh__gpu_blocks(p->n), BH_CUDA_BLOCK, 0, r.stream>>>(
            partition_parts(p), m.part[0], (row *)m.rows[0]);
        if (!r.launched() || (bits && !r.cub([&](void *temporary, size_t &bytes) {
                return cub::DeviceRadixSort::SortPairs(temporary, bytes, part, rows, p->n, 0, bits,
                                                       r.stream);
            })))
            return 0;
        /* Part numbers and rows have gone through the same number of passes. */
        PARTITION_HALF(p) = part.selector;
        partition_bounds<<<bh__gpu_blocks(p->how.parts), BH_CUDA_BLOCK, 0, r.stream>>>(
            part.Current(), p->n, p->how.parts, m.first, p->counts);
        return r.launched();
    });
}

void partition_end(const bh__where *where, bh__partition *p)
{
    run r(where);

    /* Also when the GPU has failed: then freeing reports that again. */
    if (p->tasks)
        (void)cudaFreeAsync(p->tasks, r.stream);
    p->tasks = nullptr;
}

int partition_count(const bh__where *where, bh__partition *p)
{
    run r(where);

    p->tasks = nullptr;
    p->task_bytes = partition_cut(p).bytes;
    p->task_count = 1;
    PARTITION_HALF(p) = 0;
    if (!p->n)
        return r.ok() && r.note(cudaMemsetAsync(p->counts, 0, p->how.parts * 8ull, r.stream));
    if (!r.ok() || !r.note(cudaMallocFromPoolAsync(&p->tasks, p->task_bytes,
                                                   r.place->gpu->pool[BH_MEMORY_CALL], r.stream))) {
        p->tasks = nullptr;
        return 0;
    }
    if (partition_sort(r, p))
        return 1;
    partition_end(where, p);
    return 0;
}

int partition_scatter(const bh__where *where, bh__partition *p)
{
    run r(where);

    if (!p->n)
        return 1;
    if (!r.ok())
        return 0;
    return of_row(p, [&](auto word) {
        typedef decltype(word) row;
        const partition_memory m = partition_cut(p);
        const uint64_t half = PARTITION_HALF(p);

        partition_out<<<bh__gpu_blocks(p->n), BH_CUDA_BLOCK, 0, r.stream>>>(
            partition_parts(p), m.part[half], (const row *)m.rows[half], m.first, p->keys_at,
            p->payloads_at);
        return (int)(cudaGetLastError() == cudaSuccess);
    });
}

/* ---------------------------------------------------------------------------------------------
 * sort
 * --------------------------------------------------------------------------------------------- */

template <typename T> __global__ void number_kernel(T *to, uint64_t n)
{
    if (this_thread() < n)
        to[this_thread()] = (T)this_thread();
}

/* Copies a column to where it is sorted in place. */
int bring(run &r, void *to, const void *from, uint64_t bytes)
{
    return to == from ||
           r.note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, r.stream));
}

/* Puts payloads where they are sorted: as given, or the rows' numbers. */
int bring_payloads(run &r, const bh__sort *s)
{
    if (!s->payload_bytes)
        return 1;
    if (s->payloads)
        return bring(r, s->payloads_out, s->payloads, s->n * s->payload_bytes);
    return of_width(s->payload_bytes, [&](auto word) {
        number_kernel<<<bh__gpu_blocks(s->n), BH_CUDA_BLOCK, 0, r.stream>>>(
            (decltype(word) *)s->payloads_out, s->n);
        return r.launched();
    });
}

/* Runs one of CUB's sorts, which begin at the output. Its memory is taken before the first byte of
 * the output is written: what lies there may be a table's. */
template <typename F> int sort_by(run &r, const bh__sort *s, F function)
{
    size_t bytes = 0;
    void *temporary;

    if (!r.ok() || !r.note(function(nullptr, bytes)))
        return 0;
    temporary = r.take(bytes);
    return temporary && bring(r, s->keys_out, s->keys, s->n * s->key_bytes) &&
           bring_payloads(r, s) && r.note(function(temporary, bytes));
}

template <typename K> int key_bits(const bh__sort *s)
{
    return s->key_bits ? (int)s->key_bits : (int)sizeof(K) * 8;
}

template <typename K> int sort_keys(run &r, const bh__sort *s)
{
    cub::DoubleBuffer<K> keys((K *)s->keys_out, (K *)s->keys_spare);

    return sort_by(r, s,
                   [&](void *temporary, size_t &bytes) {
                       return cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, s->n, 0,
                                                             key_bits<K>(s), r.stream);
                   }) &&
           bring(r, s->keys_out, keys.Current(), s->n * sizeof(K));
}

template <typename K, typename P> int sort_pairs(run &r, const bh__sort *s)
{
    cub::DoubleBuffer<K> keys((K *)s->keys_out, (K *)s->keys_spare);
    cub::DoubleBuffer<P> payloads((P *)s->payloads_out, (P *)s->payloads_spare);

    return sort_by(r, s,
                   [&](void *temporary, size_t &bytes) {
                       return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, payloads,
                                                              s->n, 0, key_bits<K>(s), r.stream);
                   }) &&
           bring(r, s->keys_out, keys.Current(), s->n * sizeof(K)) &&
           bring(r, s->payloads_out, payloads.Current(), s->n * sizeof(P));
}

int sort_by_key(const bh__where *where, const bh__sort *s)
{
    run r(where);

    if (!s->n)
        return 1;
    return of_width(s->key_bytes, [&](auto key_word) {
        typedef decltype(key_word) key;

        if (!s->payload_bytes)
            return sort_keys<key>(r, s);
        return of_width(s->payload_bytes,
                        [&](auto word) { return sort_pairs<key, decltype(word)>(r, s); });
    });
}

/* ---------------------------------------------------------------------------------------------
 * runs
 * --------------------------------------------------------------------------------------------- */

/* Whether a run begins at a row. */
template <typename K> struct run_begins {
    const K *keys;

    __host__ __device__ bool operator()(uint64_t i) const
    {
        return i == 0 || keys[i] != keys[i - 1];
    }
};

/* One thread for each run: its key, and of its values the first or the last. */
template <typename K, typename V>
__global__ void runs_kernel(const K *keys, const V *values, int last, uint64_t n,
                            const uint64_t *starts, uint64_t runs, K *keys_out, V *values_out)
{
    const uint64_t i = this_thread();

    if (i >= runs)
        return;
    keys_out[i] = keys[starts[i]];
    if (values)
        values_out[i] = values[!last ? starts[i] : i + 1 < runs ? starts[i + 1] - 1 : n - 1];
}

/* Where runs begin, and how many there are. */
template <typename K>
int find_runs(run &r, const K *keys, uint64_t n, uint64_t *starts, uint64_t *runs)
{
    const thrust::counting_iterator<uint64_t> rows(0);
    int64_t *count = (int64_t *)r.take(sizeof *count);

    return r.cub([&](void *temporary, size_t &bytes) {
        return cub::DeviceSelect::Flagged(
            temporary, bytes, rows, thrust::make_transform_iterator(rows, run_begins<K>{keys}),
            starts, count, (int64_t)n, r.stream);
    }) && r.answer(runs, count, sizeof *runs);
}

template <typename K, typename V>
int reduce_runs(run &r, bh_op op, const K *keys, const V *values, uint64_t n, K *keys_out,
                V *values_out, uint64_t *starts, uint64_t *runs)
{
    int64_t *count;

    if (!starts)
        starts = (uint64_t *)r.take(n * sizeof *starts);
    if (!r.ok() || !find_runs(r, keys, n, starts, runs))
        return 0;
    if (!values || op == BH_INSERT || op == BH_INSERT_NEW) {
        runs_kernel<<<bh__gpu_blocks(*runs), BH_CUDA_BLOCK, 0, r.stream>>>(
            keys, values, op != BH_INSERT_NEW, n, starts, *runs, keys_out, values_out);
        return r.launched();
    }
    count = (int64_t *)r.take(sizeof *count);
    return r.cub([&](void *temporary, size_t &bytes) {
        return cub::DeviceReduce::ReduceByKey(temporary, bytes, keys, keys_out, values, values_out,
                                              count, combine{op}, (int64_t)n, r.stream);
    });
}

int reduce_by_key(const bh__where *where, bh_op op, const void *keys, uint32_t key_bytes,
                  const void *values, uint32_t value_bytes, uint64_t n, void *keys_out,
                  void *values_out, uint64_t *starts, uint64_t *runs)
{
    run r(where);

    *runs = 0;
    if (!n)
        return 1;
    return of_width(key_bytes, [&](auto key_word) {
        return of_width(value_bytes, [&](auto word) {
            typedef decltype(key_word) key;
            typedef decltype(word) value;

            return reduce_runs(r, op, (const key *)keys, (const value *)values, n, (key *)keys_out,
                               (value *)values_out, starts, runs);
        });
    });
}

} // namespace

const bh__primitives bh__gpu_primitives = {
    .reduce = reduce,
    .scan = scan,
    .compact = compact,
    .gather = gather,
    .scatter = scatter,
    .partition_count = partition_count,
    .partition_scatter = partition_scatter,
    .partition_end = partition_end,
    .sort_by_key = sort_by_key,
    .reduce_by_key = reduce_by_key,
    .lower_bound = lower_bound,
    .parts_most = 1u << 16,
};
