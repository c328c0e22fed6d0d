/*
 * Lookups and surveys through shared memory (src/cuda/device/look.h) for regions of 16, 32, 64 and 128
 * bytes, of which the module's designs have those of 64: on a table that is laid out here (nodes/ops.h),
 * whose regions have another length for other widths. Every key is found with its value, others are
 * missing and their values stay, copies are made of the regions that have the declared length and of no
 * others; and a survey counts the keys that are missing.
 *
 * Exit status 77 where there is no GPU.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

/* A pair of widths. */
struct subject {
    uint32_t region, key_bytes, value_bytes, slots, values;
    bh__gpu_launch *find, *survey;
};

static std::vector<const subject *> subjects;
struct added {
    explicit added(const subject *s)
    {
        subjects.push_back(s);
    }
};

#define BH_EACH_DESIGN "cuda/look_design.h"
#include "cuda/nodes/design.h"
#undef BH_EACH_DESIGN

enum { SKIPPED = 77, UNTOUCHED = 0xaa };

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

/* Bytes on the device, with what the host has of them. */
struct array {
    std::vector<unsigned char> host;
    unsigned char *device = nullptr;

    explicit array(size_t bytes, int filled = 0) : host(bytes, (unsigned char)filled)
    {
        must(cudaMalloc(reinterpret_cast<void **>(&device), bytes ? bytes : 1));
        send();
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    ~array()
    {
        cudaFree(device);
    }
    void send()
    {
        must(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
    }
    void fetch()
    {
        must(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost));
    }
};

/* A bijection of 32-bit numbers, so that different numbers are different keys of either width. */
static uint64_t key_of(uint64_t number)
{
    return (uint32_t)(number * 0x9e3779b1u) ^ 0x5555u;
}

/* The hash's first word, as src/primitives/hash.h has it for devices. */
static uint64_t hash_of(uint64_t key, const bh_seed *seed)
{
    unsigned __int128 product = (unsigned __int128)(key ^ seed->mask) * seed->first;

    product = (unsigned __int128)((uint64_t)product ^ (uint64_t)(product >> 64)) * seed->second;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void set(const subject &s, array &nodes, bh_nodes_geometry &g, uint64_t key)
{
    uint64_t node = (uint64_t)((unsigned __int128)hash_of(key, &g.seed) * g.count >> 64);

    for (;; node = node + 1 == g.count ? 0 : node + 1) {
        unsigned char *at = &nodes.host[node * s.region];
        uint32_t used, more = 1;

        memcpy(&used, at, 4);
        if (used == s.slots) {
            memcpy(at + 4, &more, 4);
            continue;
        }
        memcpy(at + 8 + used * s.key_bytes, &key, s.key_bytes);
        const uint64_t value = key * 3;
        memcpy(at + s.values + used * s.value_bytes, &value, s.value_bytes);
        used++;
        memcpy(at, &used, 4);
        return;
    }
}

/* Keys 0 to n - 1 are in the table; keys first to first + n - 1 are looked up. */
static void look(const subject &s, uint64_t n)
{
    const uint64_t first = n / 3, bits = UINT64_C(1) << 26, values = n * s.value_bytes;
    array geometry(sizeof(bh_nodes_geometry)), counts(sizeof(bh__cuda_done)), keys(n * s.key_bytes),
        answers(values, UNTOUCHED), outcomes(n, UNTOUCHED), set_bits(bits / 8);
    bh_nodes_geometry g = {bh_seed_expand(n), 0, n * 10 / (7 * s.slots) + 2};
    array nodes(g.count * s.region);
    bh__cuda_job j = {};
    bh__cuda_done done;
    bh__gpu gpu = {};

    gpu.threads = 2048; /* fewer than there are elements */
    for (uint64_t i = 0; i < n; i++)
        set(s, nodes, g, key_of(i));
    nodes.send();
    g.nodes = (uint64_t)(uintptr_t)nodes.device;
    memcpy(geometry.host.data(), &g, sizeof g);
    geometry.send();
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t key = key_of(first + i);

        memcpy(&keys.host[i * s.key_bytes], &key, s.key_bytes);
    }
    keys.send();
    j.slice.geometry = geometry.device;
    j.slice.keys = keys.device;
    j.slice.values_out = answers.device;
    j.slice.outcomes = outcomes.device;
    j.slice.op = BH_INSERT; /* what a survey asks about */
    j.count = n;
    j.every = 1;
    j.bits = (uint32_t *)(void *)set_bits.device;
    j.bit_count = bits;
    j.done = (bh__cuda_done *)(void *)counts.device;
    counts.send();

    must((cudaError_t)s.find(&gpu, &j, n));
    must((cudaError_t)s.survey(&gpu, &j, n));
    must(cudaDeviceSynchronize());
    answers.fetch();
    outcomes.fetch();
    counts.fetch();
    memcpy(&done, counts.host.data(), sizeof done);

    for (uint64_t i = 0; i < n; i++) {
        const bool there = first + i < n;
        const uint64_t value = key_of(first + i) * 3;
        uint64_t untouched;

        memset(&untouched, UNTOUCHED, sizeof untouched);
        CHECK(outcomes.host[i] == (there ? BH_FOUND : BH_MISSING),
              "%u bytes: element %llu of %llu has outcome %u", s.region, (unsigned long long)i,
              (unsigned long long)n, outcomes.host[i]);
        CHECK(memcmp(answers.host.data() + i * s.value_bytes, there ? &value : &untouched,
                     s.value_bytes) == 0,
              "%u bytes: element %llu of %llu has another value", s.region, (unsigned long long)i,
              (unsigned long long)n);
    }
    CHECK((done.missing != 0) == (first > 0), "missing keys are not noted");
    /* Some share a bit. */
    CHECK(done.fresh <= first && done.fresh + first / 100 + 1 >= first,
          "%llu keys are new, not %llu", (unsigned long long)done.fresh, (unsigned long long)first);
    CHECK(done.absent == first, "%llu keys are absent, not %llu", (unsigned long long)done.absent,
          (unsigned long long)first);

    /* A blind survey counts the keys that are there, too. */
    j.blind = 1;
    memset(counts.host.data(), 0, sizeof done);
    counts.send();
    set_bits.send();
    must((cudaError_t)s.survey(&gpu, &j, n));
    must(cudaDeviceSynchronize());
    counts.fetch();
    memcpy(&done, counts.host.data(), sizeof done);
    CHECK(done.absent == n && done.fresh <= n && done.fresh + n / 100 + 1 >= n,
          "%llu of %llu elements insert %llu keys", (unsigned long long)done.absent,
          (unsigned long long)n, (unsigned long long)done.fresh);
}

int main()
{
    int devices = 0;
    uint32_t lengths = 0;
    cudaError_t status = cudaGetDeviceCount(&devices);

    if (status != cudaSuccess || !devices) {
        printf("no GPU: %s\n", status == cudaSuccess ? "none found" : cudaGetErrorString(status));
        return SKIPPED;
    }
    for (const subject *s : subjects) {
        lengths |= s->region;
        for (uint64_t n : {1, 2, 31, 33, 1000, 12345, 1 << 20})
            look(*s, n);
    }
    CHECK(lengths == (16 | 32 | 64 | 128), "not all lengths were tried");
    printf("all is well\n");
    return 0;
}
