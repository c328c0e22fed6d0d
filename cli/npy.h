/*
 * Arrays in NumPy's file format, .npy: a magic string, a version, the length of a header, the
 * header (the text of a Python dictionary with the type of the elements, their order and the
 * shape of the array) and then the elements. Reads arrays of integers of any width and shape as
 * one long row of keys; writes the result, a row of (key, count) pairs.
 */
#ifndef BULKHASH_CLI_NPY_H
#define BULKHASH_CLI_NPY_H

#include "input.h"
#include "pair.h"

struct npy {
    struct input input;
    uint32_t item_bytes; /* of an element in the file: 1, 2, 4 or 8 */
    bool is_signed;
    bool big_endian;
    uint32_t key_bytes; /* of a key: 4, or 8 for elements of 8 bytes */
    uint64_t items;     /* how many elements the header says */
    uint64_t items_read;
    uint64_t header_bytes; /* where the elements begin */
    unsigned char *buffer;
    size_t buffer_items;
};

/* Opens the file, reads the header and compares it with the size of the file. Whatever is not an
 * array of integers ends here. */
void npy_open(struct npy *npy, const char *path);

/* Reads up to `room` (> 0) elements and writes them as keys of key_bytes in the machine's byte
 * order; narrower ones are widened, with their sign if they have one. Answers how many; 0 at the
 * end. A file that does not hold what its header says ends the program. */
size_t npy_read(struct npy *npy, void *keys, size_t room);

/* Copies `count` elements from all over the array into `keys`, as npy_read() would; answers false where
 * the array has fewer, or the file is compressed or none to go to and fro in. */
bool npy_sample(struct npy *npy, void *keys, size_t count);

void npy_close(struct npy *npy);

/* The result: a header, then pairs of a key and a count of 8 bytes. Keys have the width and sign of
 * the array that was counted, in little-endian order whatever its own order was. */
enum { npy_pair_header_bytes = 128 };

/* Writes the header of an array of `pairs` pairs with integer keys of key_bytes (1, 2, 4 or 8);
 * `header` has npy_pair_header_bytes. */
void npy_pair_header(uint64_t pairs, uint32_t key_bytes, bool is_signed, char *header);

/* Answers the bytes of `count` pairs in the file, of each the lowest key_bytes of its key and its count,
 * and in *length how many they are. They are put into `room`, which has 16 for each pair, unless the
 * pairs are these bytes already. */
const char *npy_pairs(const struct pair *pairs, uint64_t count, uint32_t key_bytes, char *room,
                      size_t *length);

#endif
