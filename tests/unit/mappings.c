/*
 * Mappings of the process's address space, of which Linux allows some 65,000: how many small tables
 * take, and that a reservation is kept when the system refuses memory for it. And how many page faults
 * the answers of lookups take.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/tables.h"

/* How many mappings the process has; 0 where the system does not say. */
static uint64_t mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    uint64_t lines = 0;

    if (file == NULL) {
        return 0;
    }
    for (int c = getc(file); c != EOF; c = getc(file)) {
        lines += c == '\n';
    }
    (void)fclose(file);
    return lines;
}

enum { TABLES = 1000, KEYS = 200 };

/* As many as the header says: one for each subtable at most, of HashFight one for each table. */
static void small_tables(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    bh_table **tables = test_allocate(TABLES * sizeof(bh_table *));
    batch all = batch_new(8, 8, KEYS);
    (void)state;

    for (uint64_t i = 0; i < KEYS; i++) {
        batch_set(&all, i, i, i);
    }
    for (int design = BH_DYCUCKOO; design <= BH_HASHFIGHT; design++) {
        const uint64_t before = mappings();
        const uint64_t most = design == BH_DYCUCKOO ? 4 * TABLES : TABLES;
        uint64_t taken = 0;

        for (int i = 0; i < TABLES; i++) {
            bh_table_options options = table_options(8, 8, 1);
            options.design = (bh_design)design;
            tables[i] = table_with(context, &options);
            check_status(batch_call(tables[i], BH_INSERT, &all), BH_OK);
        }
        taken = mappings() - before;
        printf("%d tables of design %d take %lld mappings\n", TABLES, design, (long long)taken);
        check(before == 0 || (int64_t)taken <= (int64_t)most, "%d tables take %llu mappings",
              TABLES, (unsigned long long)taken);
        for (int i = 0; i < TABLES; i++) {
            bh_table_destroy(tables[i]);
        }
    }
    batch_free(&all);
    free(tables);
    bh_context_destroy(context);
}

enum { PAGE = 4096, BYTES = 64 * PAGE, COMMITTED = 16 * PAGE };

/* Whether something is mapped at all of these pages: a reservation that another mapping could take the
 * place of is none. */
static bool is_mapped(char *memory, uint64_t bytes)
{
    unsigned char resident[BYTES / PAGE];

    return mincore(memory, bytes, resident) == 0;
}

static bool is_zero(const char *memory, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (memory[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Memory is refused by a limit on what may be written to, which is why this is a process of its own. */
static void commit_with_a_limit(bh_pages pages)
{
    const struct rlimit little = {PAGE, RLIM_INFINITY}; // of 0 Linux takes no notice
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    bh_system system;
    char *memory = NULL;
    int refused = 0;

    bh_system_default(&system);
    memory = system.reserve(system.state, BYTES);
    check(memory != NULL, "nothing was reserved");
    check(system.commit(system.state, memory, COMMITTED, pages) == 0, "nothing was committed");
    memset(memory, 1, COMMITTED);

    check(setrlimit(RLIMIT_DATA, &little) == 0, "no limit can be set");
    refused = system.commit(system.state, memory + COMMITTED, BYTES - COMMITTED, pages);
    (void)setrlimit(RLIMIT_DATA, &unlimited);
    check(refused != 0, "memory was given beyond the limit");
    check(is_mapped(memory, BYTES), "a refused commit has given up a part of the reservation");

    check(system.commit(system.state, memory + COMMITTED, BYTES - COMMITTED, pages) == 0,
          "what was refused once is refused for ever");
    check(is_zero(memory + COMMITTED, BYTES - COMMITTED), "memory is not zeroed");
    memset(memory, 2, BYTES);
    check(system.decommit(system.state, memory + COMMITTED, BYTES - COMMITTED) == 0,
          "memory was not taken back");
    check(is_mapped(memory, BYTES), "decommit has given up a part of the reservation");
    check(system.commit(system.state, memory + COMMITTED, BYTES - COMMITTED, pages) == 0,
          "memory is not given a second time");
    check(is_zero(memory + COMMITTED, BYTES - COMMITTED), "memory is not zeroed the second time");
    check(memory[0] == 2 && memory[COMMITTED - 1] == 2, "memory that stayed has changed");
    system.unreserve(system.state, memory, BYTES);
}

static void refused_memory(void **state)
{
    (void)state;
    if (TEST_SANITIZER) {
        printf("not with a sanitizer, which needs memory itself\n");
        return;
    }
    for (int pages = BH_PAGES_AUTO; pages <= BH_PAGES_LAZY; pages++) {
        int status = 0;
        pid_t child = fork();

        check(child >= 0, "no process for the test itself");
        if (child == 0) {
            test_is_child();
            commit_with_a_limit((bh_pages)pages);
            _exit(0);
        }
        check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "pages %d: see above", pages);
    }
}

static uint64_t faults(void)
{
    struct rusage usage;

    check(getrusage(RUSAGE_SELF, &usage) == 0, "the system does not count page faults");
    return (uint64_t)usage.ru_minflt;
}

enum { LOOKUPS = 1 << 16, ANSWER_BYTES = 8 * LOOKUPS, FAULTS_OF_OTHERS = 16 };

/* Memory to which nobody has written yet, on the smallest pages. */
static void *fresh_memory(void)
{
    void *memory =
        mmap(NULL, ANSWER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(memory != MAP_FAILED, "no memory for the test itself");
    (void)madvise(memory, ANSWER_BYTES, MADV_NOHUGEPAGE);
    return memory;
}

/* One fault for each page: a page that was read first would take two. Every second key is absent. */
static void fresh_answers(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    batch all = batch_new(8, 8, LOOKUPS);
    (void)state;

    for (int design = BH_STADIUM; design <= BH_HASHFIGHT; design++) {
        bh_table_options options = table_options(8, 8, LOOKUPS);
        uint64_t *values = fresh_memory(), before = 0, taken = 0;
        batch even = batch_new(8, 8, LOOKUPS / 2);
        bh_table *table = NULL;

        options.design = (bh_design)design;
        table = table_with(context, &options);
        for (uint64_t i = 0; i < even.n; i++) {
            batch_set(&even, i, 2 * i, 2 * i + 1);
        }
        check_status(batch_call(table, BH_INSERT, &even), BH_OK);
        batch_free(&even);
        for (uint64_t i = 0; i < LOOKUPS; i++) {
            batch_set(&all, i, i, i + 1);
        }
        check_status(batch_call(table, BH_FIND, &all), BH_OK);
        before = faults();
        check_status(bh_find(table, all.keys, LOOKUPS, values, all.outcomes), BH_OK);
        taken = faults() - before;
        printf("design %d: %llu faults of %d pages\n", design, (unsigned long long)taken,
               ANSWER_BYTES / PAGE);
        check(TEST_SANITIZER || taken <= ANSWER_BYTES / PAGE + FAULTS_OF_OTHERS,
              "%d pages of answers take %llu faults", ANSWER_BYTES / PAGE,
              (unsigned long long)taken);
        for (uint64_t i = 0; i < LOOKUPS; i++) {
            check(values[i] == (i % 2 == 0 ? i + 1 : 0), "key %llu has the value %llu",
                  (unsigned long long)i, (unsigned long long)values[i]);
        }
        check(munmap(values, ANSWER_BYTES) == 0, "memory is not given back");
        bh_table_destroy(table);
    }
    batch_free(&all);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_tables),
        cmocka_unit_test(refused_memory),
        cmocka_unit_test(fresh_answers),
    };

    return test_target_runs() ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
                              : TEST_SKIPPED;
}
