/*
 * The system functions that the library uses when a program replaces none:
 * Linux memory mappings, POSIX threads, the monotonic clock, the system's random
 * source. It is the only file that speaks to the system.
 */
#define _GNU_SOURCE
#include "base/system.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/structs.h"

static void *system_allocate(void *state, uint64_t bytes)
{
    void *memory = NULL;

    (void)state;
    if (bytes > SIZE_MAX || posix_memalign(&memory, 64, bytes ? (size_t)bytes : 1))
        return NULL;
    return memory;
}

static void system_release(void *state, void *memory, uint64_t bytes)
{
    (void)state;
    (void)bytes;
    free(memory);
}

/* A mapping is aligned only to a page; alignment to a huge page comes from mapping more and giving the ends
 * back. */
static void *system_reserve(void *state, uint64_t bytes)
{
    uint64_t slack = bytes >= BH__PAGE_HUGE ? BH__PAGE_HUGE : 0;
    uint64_t head;
    char *memory;

    (void)state;
    if (bytes > (uint64_t)SIZE_MAX - slack)
        return NULL;
    memory =
        mmap(NULL, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (!slack)
        return memory;
    head = (0 - (uint64_t)(uintptr_t)memory) & (BH__PAGE_HUGE - 1);
    if (head)
        munmap(memory, head);
    if (slack - head)
        munmap(memory + head + bytes, slack - head);
    return memory + head;
}

/* Memory the kernel thinks it can give without swapping, or UINT64_MAX if it does not say. */
static uint64_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[160];
    unsigned long long kib;
    uint64_t bytes = UINT64_MAX;

    if (!file)
        return bytes;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
            bytes = (uint64_t)kib << 10;
            break;
        }
    }
    fclose(file);
    return bytes;
}

/* A container's limit stands in the file of its control group, "max" where it has none. */
uint64_t bh__machine_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    uint64_t bytes = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
    unsigned long long most;

    if (!file)
        return bytes;
    if (fscanf(file, "%llu", &most) == 1 && most < bytes)
        bytes = most;
    fclose(file);
    return bytes;
}

/*
 * Linux overcommits memory, and kills a process that uses more than there is. Memory that will be touched
 * at once is therefore compared with what is available; lazy memory is not.
 *
 * The reservation is made writable, and no new mapping is put in its place: where the system counts
 * what it promises (vm.overcommit_memory 2), Linux before 6.12 can refuse the new mapping after it has
 * removed the old one. Another thread's mapping could then get the place, and unreserve would remove it.
 */
static int system_commit(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    (void)state;
    if (pages != BH_PAGES_LAZY && bytes >= 16 * BH__PAGE_HUGE && bytes > available_bytes())
        return -1;
    if (mprotect(memory, bytes, PROT_READ | PROT_WRITE))
        return -1;
    /* Advice only: a kernel without huge pages answers an error, and the table works the same. */
    if (bytes >= BH__PAGE_HUGE || pages != BH_PAGES_AUTO)
        (void)madvise(memory, bytes, pages == BH_PAGES_AUTO ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return 0;
}

/* A new mapping in place of the old: memory that madvise drops would still be counted as committed. Memory
 * without access rights is not counted, so the new mapping is not refused after the old one is gone. */
static int system_decommit(void *state, void *memory, uint64_t bytes)
{
    (void)state;
    return mmap(memory, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                -1, 0) == MAP_FAILED
               ? -1
               : 0;
}

static void system_unreserve(void *state, void *memory, uint64_t bytes)
{
    (void)state;
    munmap(memory, bytes);
}

/* The kernel tells the page size that a mapping really has only in smaps: the first mapping that holds
 * `memory` stands for the whole. */
static uint64_t system_page_bytes(void *state, const void *memory, uint64_t bytes)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    unsigned long long from, to, kib, huge = 0, resident = 0;
    uint64_t address = (uint64_t)(uintptr_t)memory;
    char line[512];
    int inside = 0;

    (void)state;
    (void)bytes;
    if (!file)
        return (uint64_t)sysconf(_SC_PAGESIZE);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2) {
            if (inside)
                break;
            inside = from <= address && address < to;
        } else if (inside) {
            if (sscanf(line, "Rss: %llu kB", &kib) == 1)
                resident = kib;
            else if (sscanf(line, "AnonHugePages: %llu kB", &kib) == 1)
                huge = kib;
        }
    }
    fclose(file);
    return huge && huge >= resident / 2 ? BH__PAGE_HUGE : (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A thread's stack has this much at least, whatever limit (`ulimit -s`) the system derives its size from. It
 * is four times what a task may take (bulkhash.h), because the system puts thread-local variables there,
 * too. */
#define STACK_LEAST ((size_t)256 << 10)

static int start_thread(pthread_t *id, void *(*run)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    size_t bytes;
    int failed = pthread_attr_init(&attributes);

    if (failed)
        return failed;
    failed = pthread_attr_getstacksize(&attributes, &bytes);
    if (!failed && bytes < STACK_LEAST)
        failed = pthread_attr_setstacksize(&attributes, STACK_LEAST);
    if (!failed)
        failed = pthread_create(id, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* pthread_create wants a function that returns a pointer. */
typedef struct thread_start {
    void (*run)(void *argument);
    void *argument;
} thread_start;

static void *thread_main(void *memory)
{
    thread_start start = *(thread_start *)memory;

    free(memory);
    start.run(start.argument);
    return NULL;
}

static int system_thread_start(void *state, void (*run)(void *argument), void *argument,
                               uint64_t *thread)
{
    thread_start *start = malloc(sizeof *start);
    sigset_t all, before;
    pthread_t id;
    int failed;

    (void)state;
    if (!start)
        return -1;
    start->run = run;
    start->argument = argument;
    /* Signals are blocked in the library's threads: they are for the program's own. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = start_thread(&id, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(start);
        return -1;
    }
    *thread = (uint64_t)id;
    return 0;
}

static void system_thread_join(void *state, uint64_t thread)
{
    (void)state;
    pthread_join((pthread_t)thread, NULL);
}

static uint32_t system_processors(void *state)
{
    cpu_set_t set;
    long online;

    (void)state;
    if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

static void system_yield(void *state)
{
    (void)state;
    sched_yield();
}

static void system_sleep(void *state, uint64_t nanoseconds)
{
    struct timespec t;

    (void)state;
    t.tv_sec = (time_t)(nanoseconds / 1000000000u);
    t.tv_nsec = (long)(nanoseconds % 1000000000u);
    /* A signal does not end it: the gate relies on its length. */
    while (nanosleep(&t, &t) && errno == EINTR)
        continue;
}

static uint64_t system_clock(void *state)
{
    struct timespec t;

    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int system_random(void *state, void *bytes, uint64_t count)
{
    char *to = bytes;

    (void)state;
    while (count) {
        ssize_t got = getrandom(to, count, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        to += got;
        count -= (uint64_t)got;
    }
    return 0;
}

static uint64_t system_process_id(void *state)
{
    (void)state;
    return (uint64_t)getpid();
}

static const char *system_environment(void *state, const char *name)
{
    (void)state;
    return getenv(name);
}

/* A processor that runs none of the process's threads needs no barrier: switching to one is a barrier. */
static int system_barrier_prepare(void *state)
{
    (void)state;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ? -1 : 0;
}

static int system_barrier(void *state)
{
    (void)state;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) ? -1 : 0;
}

/* The key under which threads keep what ends them, plus 1; 0 before there is one. */
static uint64_t key_of_ends;

int bh__thread_ends_prepare(void (*ends)(void *argument), void (*forked)(void))
{
    uint64_t made = bh__atomic_load(&key_of_ends, __ATOMIC_ACQUIRE);
    pthread_key_t key;

    if (made)
        return 0;
    if (pthread_key_create(&key, ends))
        return -1;
    /* Of several threads that come here at once, one has its key taken; `forked` is then run more than once.
     * No lock: a child process would find it held by a thread that it does not have. */
    if (pthread_atfork(NULL, NULL, forked)) {
        pthread_key_delete(key);
        return -1;
    }
    if (!bh__atomic_swap_if(&key_of_ends, &made, (uint64_t)key + 1, __ATOMIC_ACQ_REL,
                            __ATOMIC_ACQUIRE))
        pthread_key_delete(key);
    return 0;
}

int bh__at_thread_end(void *argument)
{
    const uint64_t made = bh__atomic_load(&key_of_ends, __ATOMIC_ACQUIRE);

    return !made || pthread_setspecific((pthread_key_t)(made - 1), argument) ? -1 : 0;
}

/* A program may unload the library, or end while other threads run: none of them may call into it then, nor use
 * a key whose number may be another library's by then. */
__attribute__((destructor)) static void forget_ends(void)
{
    uint64_t made = bh__atomic_load(&key_of_ends, __ATOMIC_ACQUIRE);

    if (made && bh__atomic_swap_if(&key_of_ends, &made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        pthread_key_delete((pthread_key_t)(made - 1));
}

void bh_system_default_sized(bh_system *system, uint64_t struct_size)
{
    const bh_system all = {
        sizeof all,
        NULL,
        system_allocate,
        system_release,
        system_reserve,
        system_commit,
        system_decommit,
        system_unreserve,
        system_page_bytes,
        system_thread_start,
        system_thread_join,
        system_processors,
        system_yield,
        system_sleep,
        system_clock,
        system_random,
        system_process_id,
        system_environment,
        system_barrier_prepare,
        system_barrier,
    };

    bh__init_struct(system, struct_size, &all);
}
