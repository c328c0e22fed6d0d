/*
 * Stadium hashing: what one key does to the table, as steps of one region each, and what the passes do. An
 * include-template: see instance.h.
 *
 * The code stands in the files that this one includes, each of which needs those before it:
 *
 *     board.h     tickets, paths, bounds, locks
 *     flight.h    an operation in flight: how it begins, and its steps along its key's path
 *     halves.h    the same on a GPU, half a line of the board at a time, and insertions without locks; which steps
 *                 an operation takes
 *     scan.h      the passes
 *
 * On cores most operations do not go step by step, but in groups of eight (front_board.h).
 *
 * From Khorasani, Belviranli, Gupta, Bhuyan, "Stadium Hashing: Scalable and Flexible Hashing on GPUs" (PACT
 * 2015), sections III.A, III.B, with these departures:
 *   - a ticket is claimed, with its info, by one compare-and-swap. The paper reserves it by one atomic AND and
 *     writes the info by a second: in between, another insertion of the same key sees a ticket that is not its
 *     key's, and puts it into a second slot;
 *   - a ticket says whether its pair has been written (ready); the paper has an *access* bit for calls that
 *     also look up. An insertion that meets a claimed ticket of its key's info waits: it may be its key;
 *   - an erased ticket is not fresh again, because keys may be behind it. It is claimed again only by
 *     an operation that has looked at the key's whole path, with the key's lock held or, on a GPU, while nothing
 *     else runs than insertions (halves.h);
 *   - a search ends at a fresh ticket or at its bound. (The paper's ends at the first available ticket, which
 *     after erasures misses keys, or when all slots have been looked at.)
 *
 * HOW AN OPERATION GOES
 *
 *   WALK    Looks at the tickets of its key's path, word by word, without a lock. For each ticket that is ready
 *           and has the key's info it looks at the slot. A lookup ends at its key, or where the path can hold
 *           it no further: at a fresh ticket, or at the bound. A change of a key that is there, if it needs a
 *           lock (see below), takes the key's where the key was seen, looks at ticket and slot once more, and acts,
 *           all in one step.
 *           An insertion that has come to a fresh ticket without having met its key claims it, if no key has
 *           ever been erased (turnover 0): had its key been inserted meanwhile, then behind tickets that were
 *           not fresh any more, so in this very word, and the compare-and-swap of the word would fail.
 *           Otherwise it takes the key's lock. If all of its path is one word it looks at that once more and
 *           claims a ticket in it, in the same step; else it goes
 *   LOCKED  from the beginning of the path once more. No one else inserts this key now. It claims the first
 *           ticket that was free, erased or fresh.
 *   PUT     Writes the pair into the slot that it has claimed, and says that the ticket is ready. On a GPU
 *           this is part of the step that claims.
 *
 *           home word              next words of the path
 *           [ 7 r  3 r  e  9 r ]   [ 5 r  .  .  . ]      r: ready, e: erased, .: fresh
 *                       ^ with lock    ^ without
 *
 * WITHOUT LOCKS. Where nobody erases while others insert, a slot whose ticket is ready keeps its key, and those that meet
 * their key in a slot act at once: a value is stored, or joined to by one atomic operation. All must do so, those too
 * that meet their key with its lock held: an addition that read, added and wrote would undo another's. It is so
 *   - on cores, while no key has been erased (turnover 0): the first erasure stalls, and the policy, which holds the gate
 *     alone then, says that keys may have been erased;
 *   - on a GPU in calls whose elements all do the same (BH_HINT_ALIKE), because a call holds the table alone there. An
 *     erasure is one atomic operation on the ticket, and the element that finds it ready is the one that erased. Others
 *     may insert meanwhile, without locks too (halves.h).
 *
 * An operation holds one lock at most, and none while it waits for another or for a claimed ticket, so there is
 * no deadlock; readers do not look at locks. (The front has many operations at once and holds the locks of those whose pairs
 * are to be written. It waits for nothing: what it cannot lock at the first try it leaves to the window, which begins when all
 * these locks are free again.)
 *
 * WHY A READER MISSES NOTHING. While operations run no pair moves and no ticket becomes fresh. A key that is
 * present for as long as a lookup takes has a ticket that is ready all the while, behind tickets that are not
 * fresh, and its bound was raised before. So the lookup comes by. If it comes by before the ticket is ready,
 * or after it is erased, the key was absent at that instant, and MISSING is right.
 *
 * WHY A READER READS NO PAIR THAT NEVER WAS. A pair is written into a slot whose ticket is claimed, which no
 * reader looks at. A reader that has read its key in a slot looks at the ticket again. If it is ready, with the
 * key's info, the pair was in the table at some instant since the reader first saw the ticket ready: either
 * it was there at first, or it was written after that, and its ticket is ready since. A narrow pair is read by one
 * load. Between the loads of a wide one's key and value the slot may be given to other keys. So the stamp of the word is
 * read first, then the ticket and the key; then the value, the ticket, and the stamp. With the ticket ready after the
 * first look at the stamp no pair was being written then, and whoever gives the slot to another key later counts the
 * stamp up before.
 */
#include "tables/instance.h"

#include "targets/target.h"

#include "tables/answer.h"
#include "tables/effect.h"
#include "tables/pair.h"
#include "tables/stadium/layout.h"
#include "tables/table.h"
#include "tables/writers.h"

#define BH_ST(name) BH_NAME(bh_st_##name)
#define BH_ST_IS_NARROW BH_ST_NARROW(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_ST_IS_PAIR (BH_ST_IS_NARROW && BH_VALUE_BYTES == 4) /* key and value in one word */
#define BH_ST_SHIFT BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)

#include "tables/stadium/board.h"
#include "tables/stadium/flight.h"
#include "tables/stadium/halves.h"
#include "tables/stadium/scan.h"

#undef BH_ST
#undef BH_ST_IS_NARROW
#undef BH_ST_IS_PAIR
#undef BH_ST_SHIFT
