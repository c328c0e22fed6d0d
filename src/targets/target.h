/*
 * The vocabulary: the few words in which operations on tables are written, so
 * that one text runs on every target. This header picks the target that the
 * compilation asks for and says what its words promise. Nothing under src/tables
 * knows more of a machine than this.
 *
 * The text is written for a *group*: the lanes that carry one operation. On a CPU
 * these are the SIMD lanes of one thread; on a GPU one thread, or the threads of
 * a tile. All variables of an operation have the same value in all lanes; lanes
 * appear only inside the words.
 *
 * What every target gives:
 *
 *   BH_TARGET_NAME             the target's name, a string
 *   BH_FN                      how a function of operation text is declared
 *   BH_FN_RARE                 the same for functions that are long and rarely run: they are not inlined
 *   BH_BRINGS                  1 where bh_bring does something, so that prefetching pays
 *   BH_BLANKS                  1 where elements that are counted may have no values (slice.values is
 *                              NULL): each brings 1. Where it is 0, slices have an array of ones instead,
 *                              because a test for NULL costs a kernel 4 to 7 instructions per key
 *   BH_RUNS_ALIKE              1 where slices may have BH_HINT_ALIKE (tables/table.h), which costs a kernel a test
 *                              per key: on a GPU, and where tests run its text
 *   BH_ONE_THREAD              1 where one thread runs a whole slice: only there may it have BH_HINT_BIASED (tables/table.h)
 *   BH_QUIET                   1 where nobody else writes what a step reads, or the step knows that it may be old: no
 *                              meta word need be read again, no bucket locked, and a step may be given a copy of
 *                              its region
 *
 * Words on shared memory. Each is one access that another thread may interleave
 * with; a target that replays interleavings yields in them.
 *
 *   bh_load32, bh_load64       load with acquire: later accesses stay behind it
 *   bh_load8, bh_store8        the same of a byte of a word of 64 bits, whose lowest byte is the first; of the
 *                              targets that run on a CPU alone
 *   bh_peek64(p)               loads what all threads see, with no order. (With BH_QUIET bh_load64 may answer what
 *                              was there earlier)
 *   bh_store32, bh_store64     store with release: earlier accesses stay before it
 *   bh_swap_if64(p, old, new)  compare-and-swap: if *p == old store new; 1 if it did. To take a lock
 *                              with: acquire, and ordered behind all acquiring loads before it. One
 *                              lane does it, all lanes get the answer
 *   bh_swap_if32(p, old, new)  the same for 4 bytes, with no order
 *   bh_add64(p, value)         adds to a counter; no order. One lane does it
 *   bh_take64(p, value)        the same, and answers what was there before
 *   bh_clear64(p, bits)        clears bits of a word, and answers what was there before; no order
 *   bh_join_word(p, op, bytes, value)   joins a value to the one of 4 or 8 bytes at p as `op` says (BH_ADD,
 *                              BH_MIN, ...), if the machine can do that in one access; else answers 0
 *   bh_release_add64(p, value) adds with release: earlier accesses stay before it
 *   bh_fence_far()             earlier stores to another tier than near memory stay before what follows
 *                              (only a GPU's operations store there)
 *   bh_line_load(p)            a 64-byte line into the group's registers, as if by 16 acquiring
 *                              4-byte or 8 acquiring 8-byte loads in any order: it is one value
 *                              only if a sequence number beside it says so
 *   bh_wanted32(key), bh_wanted64(key)        a key in the form in which the next two words want it
 *   bh_keys_match32(keys, count, wanted)      loads the `count` keys of a bucket that begin 8 bytes behind
 *   bh_keys_match64(keys, count, wanted)      the begin of a line, and compares them: bit 1 + i is set where
 *                                             key i is equal. Bit 0 may be anything, and so may those
 *                                             above, up to bit 7, or to bit 14 where count is more than
 *                                             7; from there on all are 0. The load is as that of
 *                                             bh_line_load. count is a constant
 *   bh_bring(p), bh_bring_to_write(p)   prefetch the line at p, of the table
 *   bh_bring_far(p)            the same, from beyond the caches, where many lines are on their way at a time
 *   bh_own(p)                  prefetches a line that bh_bring_far has asked for, and that is to be written soon
 *   bh_bring_answer(p)         prefetches a line of the caller's that is to be written
 *   bh_bring_keys(p)           prefetches a line of the caller's keys
 *
 * Words on memory that nobody else writes meanwhile: it belongs to this group alone, or to a bucket whose
 * lock the group holds.
 *
 *   bh_read32, bh_read64       load
 *   bh_line_read(p)            a 64-byte line into the group's registers, as bh_line_load
 *   bh_write32, bh_write64     store. A reader without the lock sees the store no earlier than the lock
 *                              bit, and no later than what the next bh_store64 stores
 *
 * Waiting.
 *
 *   bh_turn(refused)           whether the group shall take a step now, after `refused` steps in a row
 *                              that answered BH_RETRY. Where groups run in lockstep, as a GPU's do,
 *                              it lets one of the refused groups go first; otherwise two that want
 *                              each other's buckets would refuse each other for ever. A group that is
 *                              refused again and again waits a little
 *
 * Words of groups that run in lockstep, as threads of a GPU's warp do. On a CPU nobody has twins.
 *
 *   bh_twins(p)                a bit for each group that comes here at the same time and with the same p, if there are
 *                              several and this is one of them; else 0. It may be 0 though there are some
 *   bh_is_first_twin(twins)    whether this group's bit is the lowest
 *   bh_of_twin(twins, which, value)   the value of the group whose bit has this number. All of them come here
 *
 * Words of a team: the threads that do one item of a pass together, each of them all of the text. On a CPU
 * it is one thread.
 *
 *   bh_team_size(), bh_team_lane()   how many threads there are, and which of them this is
 *   bh_team_meet()             a barrier: waits until all threads of the team have come here; after it
 *                              each may read what the others have written before it
 *   bh_team_any(flag)          the same, and answers whether a thread's flag was not 0
 *
 * Words on memory that no other thread reads meanwhile; of the targets that run on a CPU alone.
 *
 *   bh_line_stream(to, from)   copies a 64-byte line past the caches, where the target can; both are
 *                              aligned to 64 bytes. Others may write other lines beside it
 *   bh_stream_end()            orders the lines that this thread has streamed before its later stores: to
 *                              be called before it reports that it has finished
 *
 * Words on memory that nobody else writes meanwhile, or reads.
 *
 *   bh_pack32(to, from, count, mask)   copies those of the `count` 4-byte words at `from` whose
 *   bh_pack64(to, from, count, mask)   bits are set in the mask to `to`, one behind the other
 *                                      (8-byte words in the second). `count` is a constant, at most
 *                                      16, and the mask has no bits above; all `count` words at
 *                                      `to` may be overwritten
 *
 * Words on registers.
 *
 *   bh_line_match32(line, first, count, key)   bit i is set where 4-byte word first + i of the line
 *   bh_line_match64(line, first, count, key)   equals key, i < count (8-byte words in the second);
 *                                              first and count are constants
 *   bh_line_match8(line, byte) bit i is set where byte i of the line equals `byte`, the lowest byte of each word
 *                              of 64 bits first; of the targets that run on a CPU alone
 *   bh_line_match8_odd(line, byte)   the same of bytes of which the lowest bit is taken for 1
 *   bh_first(mask)             index of the lowest set bit; mask is not 0
 *   bh_first64(mask)           the same, of a mask of 64 bits
 *   bh_zero_bytes(word)        the highest bit of each byte of a word of 64 bits that is 0; and
 *   bh_bits_of_bytes(set)      of such a set, bit k for byte k, the lowest byte first; of the targets that run on a CPU
 *                              alone
 *   bh_count(mask)             number of set bits
 *   bh_multiply(a, b, &high)   the lower 64 bits of the product, and the upper ones
 *
 * Words on vectors, of the targets that run on a CPU: the same computation for BH_VEC keys at a time.
 *
 *   BH_VEC                     64-bit words of a vector: 8, 4, or 1 where there are no vector instructions
 *   bh_vec_all(word)           the word in all places
 *   bh_vec_load64(p)           BH_VEC words; bh_vec_load32(p) of 4 bytes each, extended by zeros
 *   bh_vec_store64(p, v)       stores them
 *   bh_vec_add, _subtract, _and, _or, _xor (a, b)   place by place
 *   bh_vec_left, _right(v, bits)   shifts by a constant; bh_vec_right_by(v, bits) by the words of `bits`, which
 *                              are at most 63
 *   bh_vec_rotate(v, bits)     each word rotated to the right by the word of `bits`, which is at most 63
 *   bh_vec_swap(v)             the halves of each word, swapped
 *   bh_vec_multiply32(a, b)    the products, of 64 bits, of the lower halves
 *   bh_vec_multiply(a, a_upper, b, &high)   as bh_multiply; a_upper has a's upper halves as its lower ones
 *   bh_vec_zeros(v)            bit i is set where word i is 0
 *   bh_vec_if_zero(v, a, b)    the word of `a` where that of `v` is 0, else the word of `b`
 *   bh_vec_spread8(v)          the lowest byte of each word, in all bytes of it
 *   bh_vec_equal8(a, b)        255 in each byte that is the same in both, else 0
 *   bh_vec_first8(v)           for words whose bytes are 0 or 255: the number of the first byte that is not 0, the
 *                              lowest being 0; 8 where there is none
 *   bh_vec_table_load(p)       eight words to pick from
 *   bh_vec_pick(&table, index) the index[i]-th of them in place i; in bh_vec_pick32 the lower halves, and
 *                              anything in the upper ones
 *   bh_choose32(to, from, count, bits)   copies the words whose bits are set; to[i] is written with what was
 *   bh_choose64(to, from, count, bits)   there where bit i is not set. count is 8; in tests it may be less
 *   bh_equal32(from, count, word)        bit i is set where the i-th 4-byte word is `word`; count as before
 *   bh_part_pairs(words, keys, values, count)   each word of 8 bytes is a pair, a key at the lower address, a value
 *                              at the higher one; stores the values, and bit i is set where the key is not keys[i]
 *
 * A line's loads must not be sunk below a later bh_load64 of its sequence number, nor hoisted above an earlier
 * one, neither by the compiler nor by the machine; each target says how it ensures that.
 */
#ifndef BH_TARGETS_TARGET_H
#define BH_TARGETS_TARGET_H

#include <stdint.h>

#if defined(BH_TARGET_CUDA)
#include "targets/cuda.h"
#elif defined(BH_TARGET_AVX512)
#include "targets/avx512.h"
#elif defined(BH_TARGET_AVX2)
#include "targets/avx2.h"
#elif defined(BH_TARGET_SCALAR)
#include "targets/scalar.h"
#elif defined(BH_TARGET_SIM)
#include "targets/sim.h"
#elif defined(BH_TARGET_LINES)
#include "targets/lines.h"
#else
#error "no target is chosen: define one of the BH_TARGET_ names above"
#endif

#ifndef BH_TARGET_SIM
BH_FN bh_line bh_line_read(const void *p)
{
    return bh_line_load(p);
}
#endif

#endif
