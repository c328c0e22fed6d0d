/*
 * The k-mer scanner (see kmers.h). Each new letter is shifted into two numbers: into the k-mer from
 * the right, and its complement into the reverse complement from the left. So a k-mer costs a few
 * instructions whatever k is. The complement of a code is 3 minus the code.
 */
#include "kmers.h"

#include <string.h>

/* What a byte of a sequence is: 0 to 3 are the codes of letters. */
enum { other_symbol = 4, blank = 5, no_text = 6 };

static unsigned char byte_class[256];
static char four_letters[256][4]; /* of the four codes in a byte, the highest first */

static void fill_tables(void)
{
    for (int byte = 0; byte < 256; byte++) {
        bool is_symbol = byte > ' ' && byte < 0x7f;
        byte_class[byte] = is_symbol ? other_symbol : no_text;
        for (int i = 0; i < 4; i++)
            four_letters[byte][i] = "ACGT"[(byte >> (6 - 2 * i)) & 3];
    }
    for (int code = 0; code < 4; code++) {
        byte_class[(unsigned char)"ACGT"[code]] = (unsigned char)code;
        byte_class[(unsigned char)"acgt"[code]] = (unsigned char)code;
    }
    for (const char *c = " \t\v\f"; *c != '\0'; c++)
        byte_class[(unsigned char)*c] = blank;
}

void kmers_init(struct kmers *kmers, uint32_t k, bool canonical)
{
    fill_tables();
    memset(kmers, 0, sizeof *kmers);
    kmers->k = k;
    kmers->canonical = canonical;
    kmers->key_bytes = k <= 16 ? 4 : 8;
}

void kmers_restart(struct kmers *kmers)
{
    kmers->run = 0;
}

/* The scan, for one width of keys and one kind of k-mer. Both are constants where it is called, so
 * that each of the four loops is compiled without a test for them. */
static inline __attribute__((always_inline)) size_t scan(struct kmers *kmers,
                                                         const unsigned char *letters, size_t count,
                                                         void *keys, int *bad, uint32_t key_bytes,
                                                         bool canonical)
{
    const uint32_t k = kmers->k;
    const uint32_t first_place = 2 * (k - 1);
    const uint64_t mask = ~UINT64_C(0) >> (64 - 2 * k);
    uint32_t *keys4 = keys;
    uint64_t *keys8 = keys;
    uint64_t forward = kmers->forward;
    uint64_t reverse = kmers->reverse;
    uint64_t run = kmers->run;
    size_t found = 0;

    *bad = -1;
    for (size_t i = 0; i < count; i++) {
        uint64_t code = byte_class[letters[i]];
        if (code >= other_symbol) {
            if (code == other_symbol)
                run = 0;
            if (code == no_text) {
                *bad = letters[i];
                break;
            }
            continue;
        }
        forward = forward << 2 | code;
        uint64_t kmer = forward & mask;
        if (canonical) {
            reverse = reverse >> 2 | (3 - code) << first_place;
            if (reverse < kmer)
                kmer = reverse;
        }
        /* Written in any case and kept only when the run is long enough: cheaper than a branch,
         * and there is room, as no letter makes more than one k-mer. */
        if (key_bytes == 4)
            keys4[found] = (uint32_t)kmer;
        else
            keys8[found] = kmer;
        run++;
        found += run >= k;
    }
    kmers->forward = forward;
    kmers->reverse = reverse;
    kmers->run = run;
    return found;
}

size_t kmers_scan(struct kmers *kmers, const unsigned char *letters, size_t count, void *keys,
                  int *bad)
{
    if (kmers->key_bytes == 4)
        return kmers->canonical ? scan(kmers, letters, count, keys, bad, 4, true)
                                : scan(kmers, letters, count, keys, bad, 4, false);
    return kmers->canonical ? scan(kmers, letters, count, keys, bad, 8, true)
                            : scan(kmers, letters, count, keys, bad, 8, false);
}

void kmers_decode(uint64_t kmer, uint32_t k, char *text)
{
    kmer <<= 64 - 2 * k; /* the first letter into the highest bits */
    for (uint32_t i = 0; i < k; i += 4) {
        memcpy(text + i, four_letters[kmer >> 56], 4);
        kmer <<= 8;
    }
}
