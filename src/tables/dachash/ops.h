/*
 * DACHash: what one key does to the table, as steps of one node each, and what the passes do to one bucket.
 * An include-template: see instance.h.
 *
 * The code stands in the files that this one includes, each of which needs those before it:
 *
 *     node.h      one node: header, keys, values; the stack of nodes
 *     walk.h      an operation in flight: how it begins, and its steps along a chain
 *     chains.h    passes that change chains: split, merge, clean
 *     sweep.h     the other passes: nodes give way to a smaller stack; export
 *
 * From Zhou, "DACHash: A Dynamic, Cache-Aware and Concurrent Hash Table on GPUs" (University of Mississippi,
 * 2021), chapters 4 and 6, with these departures:
 *   - all writers of one bucket are ordered by a lock bit in its first node. The paper claims slots and
 *     appends nodes by compare-and-swap alone: two inserts of one key then take two slots, and an insert
 *     that finds a slot erased meanwhile puts its key before another copy further on;
 *   - a node is never appended in vain: it is taken from the stack under the lock, and operations return
 *     none. (There, who loses an append gives its node back, while others take theirs: a stack of indexes
 *     gives one node to two.)
 *   - an erased slot is used again, under the lock, once the whole chain has been searched for the key;
 *   - no key marks an empty slot: the header says which are in use.
 *
 * HOW AN OPERATION GOES
 *
 *   WALK    Looks at one node after the other, without a lock. A lookup ends at its key, or behind the
 *           last node. A change of a key that is there takes the bucket's lock where the key was seen,
 *           looks at that slot again (if it may have changed: see below), and acts, all in one step. An
 *           insertion that has come to the end of the chain knows that its key was absent at one instant.
 *           It takes the lock. A chain of one or two nodes, as nearly all are, it looks at once more in the
 *           same step (likewise), and puts the key into the first free slot, or into a node taken from the
 *           stack. In a longer chain it goes on to
 *   LOCKED  From the first node once more; now nothing changes. It remembers the first free slot. At the
 *           end it puts the key there, or into a node taken from the stack; in an earlier node by
 *   PUT     a step of its own.
 *
 *           first node           next                   last
 *           [ a b c d e f g ] -> [ h i . k l m n ] -> [ o p . . . . . ]
 *                                      ^ the first hole: a new key goes here
 *
 * In LOCKED and PUT the lock is held from step to step. An operation holds one lock at most, and none while
 * it waits for another, so there is no deadlock; readers do not look at it.
 *
 * WHAT A LOCK FINDS CHANGED. Between a look at a node and the lock other threads may have changed the node.
 * If its header is another one by then the operation looks again, or begins once more. If it is the same, a
 * thread may have slept while others erased and inserted keys again and again, until the header was as
 * before: so the operation looks at the node again, with the lock held. That costs a third of an insertion,
 * because a locked instruction waits for all that stands before it, and the next one for this look. So it
 * does not look again, on cores,
 *
 *   - while no key has been erased (turnover 0). The bits of slots are set then and never cleared: a header that
 *     is the same says that the node is the same, and a node that links to another is full for good. The
 *     first erasure stalls, and the policy, which holds the gate alone, sets turnover. When the table is
 *     cleared or compacted turnover is 0 again;
 *   - where one thread changes the table (BH_HINT_BIASED) at a node that the same step has looked at. A step
 *     that ends without the lock does not even store it.
 *
 * On a GPU, where a look may be at a copy of which pieces are older than others, the node is always looked
 * at again, and erasures do not stall.
 *
 * WHY A READER MISSES NOTHING. While operations run no pair moves. So a key that is present for as long as
 * a lookup takes lies in one slot all the while, in a node that is linked all the while, and the lookup comes
 * by. If it comes by before the key is inserted or after it is erased, the key was absent at an instant of
 * the lookup, and MISSING is right. So a lookup that finds nothing need not look at any header twice.
 *
 * WHY A READER READS NO PAIR THAT NEVER WAS. A writer stores a pair and only then the header in which the
 * slot is in use; an eraser takes the bit back before anyone can use the slot again. A reader that has read
 * the pair looks at the header again. If the slot is in use there, what it read was present at some instant
 * since it came: a pair of one word is of one instant, and in a wide one the stamp tells that the slot has
 * not been given to another key between the key and the value. No number of changes meanwhile can deceive
 * it: a narrow pair needs no stamp, and a stamp has 64 bits.
 */
#include "tables/instance.h"

#include "targets/target.h"

#include "tables/answer.h"
#include "tables/dachash/layout.h"
#include "tables/effect.h"
#include "tables/pair.h"
#include "tables/table.h"
#include "tables/writers.h"

#define BH_DA(name) BH_NAME(bh_da_##name)
#define BH_DA_IS_NARROW BH_DA_NARROW(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_DA_IS_PAIR (BH_DA_IS_NARROW && BH_VALUE_BYTES == 4) /* key and value in one word */
#define BH_DA_HEAD BH_DA_HEADER(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_DA_WORDS (BH_DA_LINE / BH_KEY_BYTES) /* keys' widths in a line */

#include "tables/dachash/node.h"
#include "tables/dachash/walk.h"
#include "tables/dachash/chains.h"
#include "tables/dachash/sweep.h"

#undef BH_DA
#undef BH_DA_IS_NARROW
#undef BH_DA_IS_PAIR
#undef BH_DA_HEAD
#undef BH_DA_WORDS
