/*
 * Locked instructions of a call of one key: a child process is stepped through each call, one instruction at a
 * time, and each instruction that it executes is decoded as far as to see whether it is one.
 *
 * Elsewhere than on x86-64, and where the system forbids to trace a process, the test is skipped.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdio.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/tables.h"
#include "tables/table.h"

#if defined(__x86_64__) && defined(__linux__) && !TEST_THREAD_SANITIZER && !TEST_ADDRESS_SANITIZER
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 1000, CALLS = 6, STEPS_MOST = 20000 };

typedef struct counted {
    uint32_t steps;
    uint32_t locked;
} counted;

/* The child passes here before and after each call, so the addresses are marks. */
__attribute__((noinline)) static void mark_begin(void)
{
    __asm__ volatile("");
}

__attribute__((noinline)) static void mark_end(void)
{
    __asm__ volatile("nop");
}

/* Whether the instruction at `at` locks memory, or waits for all stores as if it did. */
static bool is_locked(const unsigned char *at)
{
    bool lock = false;

    for (;; at++) {
        if (*at == 0xf0) {
            lock = true;
        } else if (*at != 0x66 && *at != 0xf2 && *at != 0xf3 && *at != 0x2e && *at != 0x36 &&
                   *at != 0x3e && *at != 0x26 && *at != 0x64 && *at != 0x65) {
            break;
        }
    }
    if ((*at & 0xf0) == 0x40) { // REX
        at++;
    }
    if (at[0] == 0x86 || at[0] == 0x87) { // xchg locks when an operand is in memory
        return at[1] < 0xc0;
    }
    if (at[0] == 0x0f) { // cpuid, syscall, mfence
        return lock || at[1] == 0xa2 || at[1] == 0x05 ||
               (at[1] == 0xae && at[2] >= 0xf0 && at[2] < 0xf8);
    }
    return lock;
}

static void live_as_a_child(void)
{
    bh_context *context = context_new(1, NULL, NULL);
    bh_table_options options = table_options(4, 4, 2 * KEYS);
    uint32_t keys[KEYS], value = 7, missing = KEYS + 1;
    bh_table *table = NULL;
    bh_table *biased = NULL;
    uint8_t outcome = 0;

    // With one seed in forty the new key's home is full, and a second bucket is locked, too.
    options.seed = 1;
    options.seed_fixed = 1;
    table = table_with(context, &options);
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = i;
    }
    check_status(bh_insert(table, keys, keys, KEYS, NULL), BH_OK);
    // To this thread, by all these changes. (The gate, which has been held alone, is entered counted at first.)
    biased = table_with(context, &options);
    for (uint32_t i = 0; i < 10 * KEYS; i++) {
        check_status(bh_insert(biased, keys + i % KEYS, keys, 1, &outcome), BH_OK);
    }
    // A thread's first calls look for other libraries, and so does each 64th later one.
    for (uint32_t i = 0; i < 513; i++) {
        check_status(bh_find(table, keys + i, 1, &value, &outcome), BH_OK);
    }
    (void)raise(SIGSTOP);
    mark_begin();
    (void)bh_find(table, keys + 600, 1, &value, &outcome);
    mark_end();
    mark_begin();
    (void)bh_find(table, &missing, 1, &value, &outcome);
    mark_end();
    mark_begin();
    (void)bh_insert(table, keys + 700, keys, 1, &outcome);
    mark_end();
    mark_begin();
    (void)bh_insert(table, &missing, keys, 1, &outcome);
    mark_end();
    mark_begin();
    (void)bh_insert(biased, keys + 700, keys, 1, &outcome);
    mark_end();
    mark_begin();
    (void)bh_insert(biased, &missing, keys, 1, &outcome);
    mark_end();
    _exit(outcome == BH_INSERTED ? 0 : 1);
}

/* Steps the child to its end; answers false when the system does not let it. */
static bool trace(pid_t child, counted calls[CALLS])
{
    struct user_regs_struct registers;
    uint32_t call = 0;
    bool inside = false;
    int how = 0;

    for (;;) {
        const unsigned char *at = NULL;

        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &how, 0) != child) {
            return false;
        }
        if (!WIFSTOPPED(how)) {
            check(WIFEXITED(how) && WEXITSTATUS(how) == 0 && call == CALLS, "the child has failed");
            return true;
        }
        if (call == CALLS) {
            continue;
        }
        check(ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0, "no registers");
        // The child's code lies where ours does.
        at = (const unsigned char *)(uintptr_t)registers.rip;
        if (at == (const unsigned char *)(uintptr_t)&mark_begin) {
            inside = true;
        } else if (at == (const unsigned char *)(uintptr_t)&mark_end) {
            inside = false;
            call++;
        } else if (inside) {
            calls[call].steps++;
            calls[call].locked += is_locked(at);
            check(calls[call].steps < STEPS_MOST, "a call of one key never ends");
        }
    }
}

static void locked_instructions(void **state)
{
    static const char *const names[CALLS] = {"find, present",           "find, missing",
                                             "insert, present",         "insert, new",
                                             "insert, present, biased", "insert, new, biased"};
    // A present key: its bucket's lock, the count of changes. A new one: counts of keys and room besides.
    static const uint32_t most[CALLS] = {0, 0, 2, 4, 0, 0};
    counted calls[CALLS] = {{0, 0}};
    int how = 0;
    pid_t child = 0;

    (void)state;
    fflush(NULL);
    child = fork();
    check(child >= 0, "no process for the test itself");
    if (child == 0) {
        test_is_child();
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(TEST_SKIPPED);
        }
        live_as_a_child();
    }
    check(waitpid(child, &how, 0) == child, "waitpid");
    if (!WIFSTOPPED(how) || !trace(child, calls)) {
        printf("the system does not let a process be traced\n");
        (void)kill(child, SIGKILL);
        skip();
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        printf("%-24s %4u instructions, %u locked\n", names[i], calls[i].steps, calls[i].locked);
        check(calls[i].steps > 0 && calls[i].locked <= most[i], "%s: %u locked instructions",
              names[i], calls[i].locked);
    }
}

/* Without the system's barrier all slices are counted, by locked instructions. */
static bool has_barrier(void)
{
    bh_context *context = context_new(1, NULL, NULL);
    bh_table *table = table_new(context, 4, 4, KEYS);
    const bool has = (table->gate.word & BH__GATE_PRESENT) != 0;

    bh_table_destroy(table);
    bh_context_destroy(context);
    return has;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(locked_instructions)};

    return test_target_runs() && has_barrier()
               ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
               : TEST_SKIPPED;
}

#else

int main(void)
{
    return TEST_SKIPPED;
}

#endif
