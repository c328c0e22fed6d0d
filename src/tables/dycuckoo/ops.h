/*
 * DyCuckoo: what one key does to the table, as steps of at most one new cache line
 * each, and what the passes do to one bucket. An include-template: see instance.h.
 *
 * This file tells how it works. The code stands in the files that it includes, each of which
 * needs those before it:
 *
 *     bucket.h    one bucket: meta word, filter, lock; look at it, put a pair in, take one out
 *     moves.h     the two buckets of a key; a resident moves from one to the other
 *     begin.h     an operation in flight: what it carries, how it begins, what it does to a pair
 *     search.h    the states SEARCH and EVICT: an operation makes room for its key
 *     steps.h     the states HOME and OTHER; the choice of the step
 *     claims.h    insertions without locks, on a GPU
 *     place.h     operations that stalled, finished with the gate held alone; longer paths
 *     resize.h    passes when a subtable has doubled or halved
 *     whole.h     passes over all pairs: inserting them under another seed, export
 *
 * From Li, Zhu, Lyu, Huang, Sun, "DyCuckoo: Dynamic Hash Tables on GPUs" (ICDE
 * 2021), section V, with these departures:
 *   - home first: a key goes to its other bucket only when its home is full, so most
 *     lookups end after one line; the filter in the home's meta word says which
 *     missing keys need not look further (the paper reads both buckets always);
 *   - all writers of one key are ordered by its home's lock bit, and every insert
 *     looks for its key first; the published code puts one key into two slots;
 *   - no resident is ever without a slot: it moves only into a slot that is free, and its copy
 *     there is published before the original goes, so that readers find it at every instant.
 *
 * HOW AN OPERATION GOES
 *
 *   HOME    Look at the home bucket. Reading operations compare and check the sequence number.
 *           Writing ones lock with one compare-and-swap from the meta word they read: if it
 *           succeeds, what they read is still valid. Most operations end here. Others go on to
 *   OTHER   with the home line still in cache. A writer locks home, then the other bucket by one
 *           try; if that fails it unlocks both and asks to be run again. With both locked it is
 *           certain whether and where the key is there: act on it, or insert it in home or in the
 *           other bucket. An insert that finds both full, and its key in neither, takes no lock
 *           and goes on to
 *   SEARCH  for a path: a resident of one of the two moves to its own other bucket; if that is
 *           full too, first one of its residents moves on, and so forth. Each step looks at one
 *           bucket more, without locks; when a free slot is found the moves run from the free end
 *           back, one a step, each an operation of its own with its own two locks:
 *
 *               home (full)       other of a (full)      other of b (free slot)
 *               [ a . . . . . . ] [ . . b . . . . ] ...  [ . . . . . _ . ]
 *                 2. <---- a goes here     1. <---- b goes here
 *
 *           After the last one start again at OTHER, which looks at everything anew. Paths of one
 *           move are tried first, then longer ones; a search that has looked at enough buckets
 *           stalls, and the policy takes over.
 *   EVICT   In a table whose keys come and go, homes have room again that their guests do not
 *           know of. So an insert that finds its home full first tries to send one guest from
 *           there to that guest's own home: one line, as going to the other bucket would cost, and
 *           two keys live at home instead of none.
 *
 * No lock is ever held between steps. So operations of one thread never meet each other's locks, and
 * no thread waits while it holds a lock, so there is no deadlock.
 *
 * WHY A READER MISSES NOTHING. A reader of HOME that finds the counter of its key 0, in a meta word
 * that is the same before and after, has seen an instant at which the key was in neither bucket:
 * whoever puts a key into its other bucket holds home's lock meanwhile and counts it before letting
 * go; or, in a table that is biased (cpu/bias.h), where only replace.h locks a bucket, by a store, counts it before the pair can be seen. A reader of OTHER that finds nothing loads home's meta word again: if that is what it was in
 * HOME, the key was not in home all the while, so it did not move from one bucket to the other either,
 * and at the instant when the other bucket was read the key was in neither. Otherwise the reader starts
 * again.
 *
 * WHAT HAPPENS IF a counter has reached 3: it stays, and lookups of missing keys that share it read
 * a second line until the subtable changes its size. Nothing else.
 */
#include "tables/instance.h"

#include "targets/target.h"

#include "tables/answer.h"
#include "tables/dycuckoo/layout.h"
#include "tables/effect.h"
#include "tables/table.h"

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define BH_DY_BUCKET_SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
#define BH_DY_BUCKET_ALL ((1u << BH_DY_BUCKET_SLOTS) - 1)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

#include "tables/dycuckoo/bucket.h"
#include "tables/dycuckoo/moves.h"
#include "tables/dycuckoo/begin.h"
#include "tables/dycuckoo/search.h"
#include "tables/dycuckoo/steps.h"
#include "tables/dycuckoo/claims.h"
#include "tables/dycuckoo/place.h"
#include "tables/dycuckoo/resize.h"
#include "tables/dycuckoo/whole.h"

#undef BH_DY
#undef BH_DY_BUCKET_SLOTS
#undef BH_DY_BUCKET_ALL
#undef BH_DY_BUCKET_BYTES
