/*
 * k-mers as numbers. A k-mer is k letters in a row, k from 1 to 32. A, C, G, T are 0, 1, 2, 3 and
 * the first letter stands in the most significant place, so a k-mer is a number of 2k bits and the
 * order of the numbers is the alphabetical order of the letters. The scanner turns the letters of
 * a record into the k-mers that begin at each of them; with `canonical` it gives the smaller of
 * each k-mer and its reverse complement (what the other strand of the DNA reads), so that both
 * strands count as one.
 */
#ifndef BULKHASH_CLI_KMERS_H
#define BULKHASH_CLI_KMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { kmers_longest = 32 };

struct kmers {
    uint32_t k;
    bool canonical;
    uint32_t key_bytes; /* of a k-mer in the arrays that kmers_scan() fills: 4 up to k = 16, or 8 */
    uint64_t forward; /* the letters so far, the newest in the lowest place; older than k: stale */
    uint64_t reverse; /* the reverse complement of the last k letters */
    uint64_t run;     /* how many letters A, C, G, T in a row have come */
};

/* Makes a scanner for k-mers of k letters, 1 <= k <= kmers_longest. */
void kmers_init(struct kmers *kmers, uint32_t k, bool canonical);

/* Begins a new record: no k-mer spans what came before and what follows. */
void kmers_restart(struct kmers *kmers);

/* Reads `count` letters and writes the k-mers that end at them, at most `count`, to `keys`;
 * answers how many. Other symbols end a run of letters, blanks are passed over. A byte that is
 * neither stops the scan and is put into *bad, which else is -1. */
size_t kmers_scan(struct kmers *kmers, const unsigned char *letters, size_t count, void *keys,
                  int *bad);

/* Writes the k letters of a k-mer. `text` must have room for kmers_longest letters: what lies
 * behind the first k is overwritten too. */
void kmers_decode(uint64_t kmer, uint32_t k, char *text);

#endif
