/*
 * DyCuckoo's operation text on a GPU for tiles of 8 threads and pairs of 8+8 bytes, which the module does
 * not have: it has tiles to compare them, for 4-byte keys and values (schedule.cu). The kernels of
 * src/cuda/device/kernels.h work on a table that is laid out here. Every pair that was inserted is found, with
 * its value, and nothing else is; where many threads insert, erase and update few keys at once,
 * each key's changes add up to whether it is there, in one slot; and where they find or insert few keys,
 * all are given the value of the one that inserted. The build compiles it twice: for tiles that carry an
 * element each, and for tiles that take their elements in turn (BH_CUDA_WAY of kernels.h).
 *
 * Exit status 77 where there is no GPU.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_TILE 8
#include "targets/target.h"

#define BH_EACH_DESIGN "cuda/text_design.h"
#include "tables/dycuckoo/design.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <vector>

enum { SKIPPED = 77, BLOCK = 256, SUBTABLES = 4, UNTOUCHED = 0xaa };

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: ", __FILE__, __LINE__);                                                 \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void must(cudaError_t status)
{
    CHECK(status == cudaSuccess, "%s", cudaGetErrorString(status));
}

/* An array on the device, with what the host has of it. */
template <typename T> struct array {
    std::vector<T> host;
    T *device = nullptr;

    explicit array(size_t n) : host(n)
    {
        must(cudaMalloc(reinterpret_cast<void **>(&device), n * sizeof(T)));
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    ~array()
    {
        cudaFree(device);
    }
    void send()
    {
        must(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    void fetch()
    {
        must(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    }
};

/* A bijection, so that different numbers are different keys, and keys are spread. */
template <typename K> static K key_of(uint64_t number)
{
    return (K)(number * 0x9e3779b97f4a7c15ull ^ 0x5555);
}

typedef void (*kernel)(const bh__cuda_job job);
struct kernels {
    kernel find, insert, erase, add, mixed;
};
static const kernels kernels_8_8 = {bh_dy_cuda_mixed_k8v8_0, bh_dy_cuda_insert_k8v8_0,
                                    bh_dy_cuda_erase_k8v8_0, bh_dy_cuda_add_k8v8_0,
                                    bh_dy_cuda_mixed_k8v8_0};

/* A table with room for so many keys at a fill, and arrays for calls of n elements. */
template <typename K> struct bench {
    static constexpr uint32_t slots = BH_DY_SLOTS(sizeof(K), sizeof(K), 0);
    uint64_t n, base;
    array<unsigned char> lines;
    array<bh_dy_geometry> geometry;
    array<bh__cuda_done> counts;
    array<K> keys, values;
    array<uint8_t> ops, outcomes;
    array<uint32_t> stalled;

    bench(uint64_t most, double fill, uint64_t elements)
        : n(elements), base((uint64_t)((double)most / fill / slots / SUBTABLES) + 1),
          lines(base * SUBTABLES * BH_DY_LINE), geometry(1), counts(1), keys(n), values(n), ops(n),
          outcomes(n), stalled(n)
    {
        bh_dy_geometry *g = geometry.host.data();

        must(cudaMemset(lines.device, 0, lines.host.size()));
        memset(g, 0, sizeof *g);
        g->seed = bh_seed_expand(n);
        g->base = base;
        g->subtables = SUBTABLES;
        for (uint32_t i = 0; i < SUBTABLES; i++)
            g->subtable[i].lines = (uint64_t)(lines.device + i * base * BH_DY_LINE);
        for (uint32_t i = 0; i < SUBTABLES * SUBTABLES; i++) {
            if (i / SUBTABLES == i % SUBTABLES)
                continue;
            g->pair[g->pairs] = (uint8_t)(i / SUBTABLES | i % SUBTABLES << 4);
            g->home[g->pairs++] = g->subtable[i / SUBTABLES];
        }
        geometry.send();
    }

    /* Runs a call on the arrays as the host has them; values are given and received. One of finds
     * runs the kernel of mixed operations. */
    const bh__cuda_done &run(kernel kernel, bool finds = false)
    {
        bh__cuda_job job = {}, *j = &job;
        bh__cuda_done *done = counts.host.data();
        bh__slice *s = &j->slice;

        memset(done, 0, sizeof *done);
        j->done = counts.device;
        s->geometry = geometry.device;
        s->keys = keys.device;
        s->values = s->values_out = values.device;
        s->ops = finds ? nullptr : ops.device;
        s->op = BH_FIND;
        s->outcomes = outcomes.device;
        j->count = j->room = j->searches = n;
        s->looks = BH_LOOKS_FREE;
        j->stalled = stalled.device;
        memset(outcomes.host.data(), UNTOUCHED, n);
        keys.send();
        values.send();
        ops.send();
        outcomes.send();
        counts.send();
        kernel<<<(unsigned)((n * BH_CUDA_TILE + BLOCK - 1) / BLOCK), BLOCK>>>(job);
        must(cudaGetLastError());
        must(cudaDeviceSynchronize());
        values.fetch();
        outcomes.fetch();
        counts.fetch();
        CHECK(!done->stalled_count, "%llu operations stalled",
              (unsigned long long)done->stalled_count);
        return *done;
    }

    void set(uint64_t first, K factor)
    {
        for (uint64_t i = 0; i < n; i++) {
            keys.host[i] = key_of<K>(first + i);
            values.host[i] = (K)(keys.host[i] * factor);
        }
    }

    void expect(bh_outcome outcome, K factor)
    {
        for (uint64_t i = 0; i < n; i++) {
            CHECK(outcomes.host[i] == outcome, "element %llu: outcome %u and not %u",
                  (unsigned long long)i, outcomes.host[i], outcome);
            CHECK(values.host[i] == (K)(keys.host[i] * factor), "element %llu: another value",
                  (unsigned long long)i);
        }
    }

    /* How many slots each key is in. */
    std::unordered_map<K, int> content()
    {
        std::unordered_map<K, int> held;

        lines.fetch();
        for (uint64_t b = 0; b < base * SUBTABLES; b++) {
            const unsigned char *line = &lines.host[b * BH_DY_LINE];
            uint64_t meta;

            memcpy(&meta, line, 8);
            CHECK(!(meta & BH_DY_LOCK), "bucket %llu is still locked", (unsigned long long)b);
            for (uint32_t i = 0; i < slots; i++) {
                K key;

                memcpy(&key, line + 8 + i * sizeof key, sizeof key);
                if (meta >> (BH_DY_USED_SHIFT + i) & 1)
                    held[key]++;
            }
        }
        return held;
    }
};

template <typename K> static void one_after_the_other(const kernels &k)
{
    const uint64_t n = 1u << 21;
    bench<K> b(n, 0.6, n);

    b.set(0, 3);
    CHECK(b.run(k.insert).inserted == n, "not all were counted");
    b.expect(BH_INSERTED, 3);
    b.set(0, 1);
    b.run(k.find, true);
    b.expect(BH_FOUND, 3);
    b.set(n, 7);
    b.run(k.find, true);
    b.expect(BH_MISSING, 7);
    b.set(0, 2);
    CHECK(b.run(k.add).assigned == n, "not all were counted");
    b.expect(BH_ASSIGNED, 2);
    b.set(0, 1);
    b.run(k.find, true);
    b.expect(BH_FOUND, 5);
    CHECK(b.content().size() == n, "keys are missing");
    CHECK(b.run(k.erase).erased == n, "not all were counted");
    b.set(0, 7);
    b.run(k.find, true);
    b.expect(BH_MISSING, 7);
    CHECK(b.content().empty(), "keys are left");
}

/* Of few keys, all at once. */
template <typename K> static void races(const kernels &k, uint64_t span, uint64_t round)
{
    static const bh_op kinds[] = {BH_INSERT, BH_ERASE,  BH_INSERT_NEW, BH_ERASE,
                                  BH_FIND,   BH_UPDATE, BH_ADD,        BH_FIND_OR_INSERT};
    bench<K> b(span, 0.2, 1u << 18);
    std::unordered_map<K, int> net;
    uint64_t random = round;

    for (uint64_t i = 0; i < b.n; i++) {
        const uint64_t word = bh_seed_next(&random);

        b.keys.host[i] = key_of<K>(word % span);
        b.values.host[i] = (K)word;
        b.ops.host[i] = (uint8_t)kinds[(word >> 40) % (sizeof kinds / sizeof *kinds)];
    }
    b.run(k.mixed);
    for (uint64_t i = 0; i < b.n; i++) {
        net[b.keys.host[i]] +=
            (b.outcomes.host[i] == BH_INSERTED) - (b.outcomes.host[i] == BH_ERASED);
        CHECK(b.outcomes.host[i] <= BH_ERASED, "operation %llu has no outcome",
              (unsigned long long)i);
    }
    const std::unordered_map<K, int> held = b.content();
    for (const auto &entry : held)
        CHECK(entry.second == 1, "a key is in %d slots", entry.second);
    for (const auto &entry : net)
        CHECK(entry.second == (int)held.count(entry.first), "a key: %d more inserted than erased",
              entry.second);
}

/* Many elements of few keys that are not there, some of them neighbours; and once more, when all are. */
template <typename K> static void winners(const kernels &k, uint64_t span)
{
    bench<K> b(span, 0.2, 1u << 16);
    std::unordered_map<K, K> winner;
    uint64_t random = span;

    for (uint64_t i = 0; i < b.n; i++) {
        const uint64_t word = bh_seed_next(&random);

        b.keys.host[i] = key_of<K>(word % 3 ? word / 3 % span : i / 64 % span);
        b.ops.host[i] = BH_FIND_OR_INSERT;
    }
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < b.n; i++)
            b.values.host[i] = (K)(round * b.n + i);
        b.run(k.mixed);
        for (uint64_t i = 0; i < b.n; i++) {
            if (b.outcomes.host[i] != BH_INSERTED)
                continue;
            CHECK(!round && b.values.host[i] == (K)i, "element %llu has another value",
                  (unsigned long long)i);
            CHECK(winner.emplace(b.keys.host[i], (K)i).second, "a key was inserted twice");
        }
        for (uint64_t i = 0; i < b.n; i++)
            CHECK(winner.count(b.keys.host[i]) && b.values.host[i] == winner[b.keys.host[i]] &&
                      (b.outcomes.host[i] == BH_INSERTED || b.outcomes.host[i] == BH_FOUND),
                  "element %llu: outcome %u with value %llu", (unsigned long long)i,
                  b.outcomes.host[i], (unsigned long long)b.values.host[i]);
    }
}

template <typename K> static void all_of(const kernels &k)
{
    one_after_the_other<K>(k);
    for (uint64_t span = 1; span <= 100000; span *= 10)
        winners<K>(k, span);
    for (uint64_t round = 0; round < 10; round++)
        races<K>(k, round % 2 ? 2000 : 20, round);
}

int main()
{
    int devices = 0;
    cudaError_t status = cudaGetDeviceCount(&devices);

    if (status != cudaSuccess || !devices) {
        printf("no GPU: %s\n", status == cudaSuccess ? "none found" : cudaGetErrorString(status));
        return SKIPPED;
    }
    all_of<uint64_t>(kernels_8_8);
    printf("all is well\n");
    return 0;
}
