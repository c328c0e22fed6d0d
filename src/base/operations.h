/*
 * The operations: what each does to its key and to the caller's array of values, a row each. All that
 * the library must know of an operation to carry it, to check a call's arguments, to run equal keys as
 * one or to choose a schedule follows from its row. A new operation is a new row and, if it combines two
 * values of a key in a new way, a case in bh_combine() (primitives/combine.h).
 */
#ifndef BH_BASE_OPERATIONS_H
#define BH_BASE_OPERATIONS_H

#include "bulkhash/bulkhash.h"

/*
 * operation   a bh_op; its number is below 16
 * present     the outcome for a key that is there. BH_FOUND: the key and its value stay as they are;
 *             BH_ASSIGNED: the value is changed; BH_ERASED: the key goes
 * absent      the outcome for a key that is not there. BH_INSERTED: it is inserted with the caller's
 *             value
 * reads       1: the caller's value is read; where a call that reduces gives no values, each is 1
 * writes      1: where the outcome is BH_FOUND, the key's value is written to the caller's array
 * joins       how a value that is there and one that is given become one: BH_INSERT, the one given;
 *             BH_INSERT_NEW, the one that is there; else an operation on both, which tables without
 *             values do not have
 */
/* clang-format off */
#define BH_OPS_ROWS(row)                                                                           \
    /*  operation           present      absent       reads writes joins */                        \
    row(BH_FIND,           BH_FOUND,    BH_MISSING,  0, 1, BH_INSERT_NEW)                          \
    row(BH_INSERT,         BH_ASSIGNED, BH_INSERTED, 1, 0, BH_INSERT)                              \
    row(BH_INSERT_NEW,     BH_FOUND,    BH_INSERTED, 1, 0, BH_INSERT_NEW)                          \
    row(BH_UPDATE,         BH_ASSIGNED, BH_MISSING,  1, 0, BH_INSERT)                              \
    row(BH_ERASE,          BH_ERASED,   BH_MISSING,  0, 0, BH_INSERT_NEW)                          \
    row(BH_ADD,            BH_ASSIGNED, BH_INSERTED, 1, 0, BH_ADD)                                 \
    row(BH_MIN,            BH_ASSIGNED, BH_INSERTED, 1, 0, BH_MIN)                                 \
    row(BH_MAX,            BH_ASSIGNED, BH_INSERTED, 1, 0, BH_MAX)                                 \
    row(BH_FIND_OR_INSERT, BH_FOUND,    BH_INSERTED, 1, 1, BH_INSERT_NEW)                          \
    row(BH_MIN_SIGNED,     BH_ASSIGNED, BH_INSERTED, 1, 0, BH_MIN_SIGNED)                          \
    row(BH_MAX_SIGNED,     BH_ASSIGNED, BH_INSERTED, 1, 0, BH_MAX_SIGNED)                          \
    row(BH_ADD_FLOAT,      BH_ASSIGNED, BH_INSERTED, 1, 0, BH_ADD_FLOAT)
/* clang-format on */

/* Columns as constants, a bit or four bits for each operation: where the operation is a constant too,
 * as in most kernels, so is each property of it. */
#define BH_OPS_ONE(op, present, absent, reads, writes, joins) +1u
#define BH_OPS_BIT(op, present, absent, reads, writes, joins) | 1u << (op)
#define BH_OPS_INSERTS(op, present, absent, reads, writes, joins)                                  \
    | ((absent) == BH_INSERTED ? 1u : 0u) << (op)
#define BH_OPS_KEEPS(op, present, absent, reads, writes, joins)                                    \
    | ((present) == BH_FOUND ? 1u : 0u) << (op)
#define BH_OPS_ERASES(op, present, absent, reads, writes, joins)                                   \
    | ((present) == BH_ERASED ? 1u : 0u) << (op)
#define BH_OPS_READS(op, present, absent, reads, writes, joins) | (reads##u) << (op)
#define BH_OPS_WRITES(op, present, absent, reads, writes, joins) | (writes##u) << (op)
#define BH_OPS_REDUCES(op, present, absent, reads, writes, joins)                                  \
    | ((joins) == BH_INSERT || (joins) == BH_INSERT_NEW ? 0u : 1u) << (op)
#define BH_OPS_PRESENT(op, present, absent, reads, writes, joins) | (uint64_t)(present) << 4 * (op)
#define BH_OPS_ABSENT(op, present, absent, reads, writes, joins) | (uint64_t)(absent) << 4 * (op)
#define BH_OPS_JOINS(op, present, absent, reads, writes, joins) | (uint64_t)(joins) << 4 * (op)

/* How many operations there are; all of them, as bits; those of tables with, or without, values, as bits. */
#define BH_OPS (0u BH_OPS_ROWS(BH_OPS_ONE))
#define BH_OPS_ALL (0u BH_OPS_ROWS(BH_OPS_BIT))
#define BH_OPS_OF(has_values) (BH_OPS_ALL & ~((has_values) ? 0u : 0u BH_OPS_ROWS(BH_OPS_REDUCES)))

/* Properties of an operation. First the columns of its row: */
#define BH_OP_PRESENT(op) ((bh_outcome)(((uint64_t)0 BH_OPS_ROWS(BH_OPS_PRESENT)) >> 4 * (op)&15u))
#define BH_OP_ABSENT(op) ((bh_outcome)(((uint64_t)0 BH_OPS_ROWS(BH_OPS_ABSENT)) >> 4 * (op)&15u))
#define BH_OP_READS(op) ((int)((0u BH_OPS_ROWS(BH_OPS_READS)) >> (op)&1u))
#define BH_OP_WRITES(op) ((int)((0u BH_OPS_ROWS(BH_OPS_WRITES)) >> (op)&1u))
#define BH_OP_JOINS(op) ((bh_op)(((uint64_t)0 BH_OPS_ROWS(BH_OPS_JOINS)) >> 4 * (op)&15u))
/* Whether an operation inserts an absent key; leaves a present key as it is; erases it; needs tables that
 * have values. */
#define BH_OP_INSERTS(op) ((int)((0u BH_OPS_ROWS(BH_OPS_INSERTS)) >> (op)&1u))
#define BH_OP_KEEPS(op) ((int)((0u BH_OPS_ROWS(BH_OPS_KEEPS)) >> (op)&1u))
#define BH_OP_ERASES(op) ((int)((0u BH_OPS_ROWS(BH_OPS_ERASES)) >> (op)&1u))
#define BH_OP_REDUCES(op) ((int)((0u BH_OPS_ROWS(BH_OPS_REDUCES)) >> (op)&1u))

/* Whether the result depends on the order in which values are joined. */
#define BH_OP_ROUNDS(op) (BH_OP_JOINS(op) == BH_ADD_FLOAT)

/* The kind of kernel that is for no operation in particular: it reads for each element what to do. A kind for
 * one operation has the operation's number. */
#define BH_KIND_MIXED 0xffu

/* Whether each of ops[0 .. n) is a bh_op that a table with, or without, values can do; `first` is
 * the number of ops[0] in the call. Writes the error sentence. Returns BH_OK, BH_ERR_ARGUMENT,
 * BH_ERR_UNSUPPORTED. */
bh_status bh__check_ops(const char *call, const uint8_t *ops, uint64_t n, uint64_t first,
                        int has_values);

#endif
