/*
 * The pool; see pool.h.
 *
 * A job is one call of run: a number of tasks. It stands in a list as long as it
 * has tasks that nobody has taken; a free worker takes the next task of the job at
 * the list's head. The caller takes tasks of its own job only, until there are none,
 * and then waits for those that other threads still run. So a job ends even when no
 * other thread ever helps, and any number of callers may come at once. Tasks are
 * large (a thousand keys and more), so a lock around taking one costs next to nothing.
 *
 * A thread that sleeps comes tens of microseconds after it is called; 16,384 lookups take one thread some 150 microseconds. So a worker
 * that has run a task looks out for another one before it sleeps, and a caller looks out for the end of its last tasks. Who looks
 * out yields its processor to any thread that wants it, and sleeps after LOOKS_OUT looks
 * (docs/decisions/0053-workers-look-out.md):
 *
 *     sleeps ---called---> takes tasks ---none left---> looks out ---LOOKS_OUT looks in vain---> sleeps
 *                               ^                          |  |
 *                               +------gets a task---------+  +---another thread was faster---> sleeps
 *
 * So where each job has a few tasks only, few workers look out. A worker that saw no news in LOOKS_OUT looks goes straight to sleep after
 * its next task; after a second such time in a row, after its next three tasks; from then on, after SKIPS_MOST. So where long pauses lie
 * between jobs, looking out costs little.
 *
 * A worker takes no task while as many threads run tasks, callers included, as the pool has. Where as many callers come as there are
 * processors, each runs its own tasks, and workers would only take processors from them.
 *
 * A child process has the pool's memory but not its threads: there, run does all
 * the work itself, and the lock, which may have been held at the fork, is not touched.
 */
#include "cpu/pool.h"

#include <pthread.h>

#include "base/atomic.h"

/* Looks of a thread before it sleeps: some 150 microseconds on a Xeon where nobody else wants its processor. */
#define LOOKS_OUT 512u

/* Tasks at most after which a worker goes straight to sleep, because it has looked out in vain. Chosen, not tuned. */
#define SKIPS_MOST 7u

/* Tries to take the lock before a thread sleeps until it gets it. Chosen, not tuned. */
#define TRIES 64u

typedef struct job job;
struct job {
    void (*task)(void *argument, uint64_t index);
    void *argument;
    uint64_t count;
    uint64_t taken;
    uint64_t finished; /* written with the lock held; the caller looks at it without */
    job *next;
};

struct bh__pool {
    bh_system system;
    uint64_t process;
    uint32_t threads;  /* wanted, the caller included */
    uint32_t started;  /* workers that run; touched with the lock held */
    uint32_t busy;     /* threads that run tasks, callers included; likewise */
    uint64_t left;     /* tasks that nobody has taken; likewise */
    uint32_t looking;  /* workers that look out; likewise */
    uint32_t sleeping; /* workers that sleep; likewise */
    uint64_t
        news; /* how often workers were called; written with the lock held, and looked at without */
    int stop;
    pthread_mutex_t lock;
    pthread_cond_t work; /* a worker may take a task, or stop */
    pthread_cond_t done; /* some job has finished */
    job *first;
    uint64_t worker[];
};

static uint64_t pool_bytes(uint32_t threads)
{
    return sizeof(bh__pool) + (uint64_t)threads * sizeof(uint64_t);
}

static void lock_pool(bh__pool *pool)
{
    uint32_t i;

    for (i = 0; i < TRIES; i++) {
        if (!pthread_mutex_trylock(&pool->lock))
            return;
        pool->system.yield(pool->system.state);
    }
    pthread_mutex_lock(&pool->lock);
}

/* Waits, without the lock, until a number is `value`, or where `is` is 0 until it is another one; but not for long. The lock
 * says what is true: the number only says when to take it. */
static void look_out(const bh__pool *pool, const uint64_t *number, int is, uint64_t value)
{
    uint32_t i;

    for (i = 0; i < LOOKS_OUT; i++) {
        if ((bh__atomic_load(number, __ATOMIC_RELAXED) == value) == is)
            return;
        pool->system.yield(pool->system.state);
    }
}

/* Takes a task of a job in the list; with the lock held. With the last task the job leaves the list. */
static uint64_t take(bh__pool *pool, job *j)
{
    uint64_t index = j->taken++;

    pool->left--;
    if (j->taken == j->count) {
        job **at = &pool->first;

        while (*at != j)
            at = &(*at)->next;
        *at = j->next;
    }
    return index;
}

/* Runs one task; called and left with the lock held. The job may be gone afterwards. */
static void run_one(bh__pool *pool, job *j, uint64_t index)
{
    pthread_mutex_unlock(&pool->lock);
    j->task(j->argument, index);
    lock_pool(pool);
    bh__atomic_store(&j->finished, j->finished + 1, __ATOMIC_RELAXED);
    if (j->finished == j->count)
        pthread_cond_broadcast(&pool->done);
}

/* Whether a worker may take a task; with the lock held. */
static int wants_worker(const bh__pool *pool)
{
    return pool->first && pool->busy < pool->threads;
}

/* Calls as many workers as may run and find a task. Those that look out see the news; sleepers are woken for the rest. With the
 * lock held. */
static void call_workers(bh__pool *pool)
{
    uint64_t wanted = pool->busy < pool->threads ? pool->threads - pool->busy : 0, i;

    wanted = wanted < pool->left ? wanted : pool->left;
    if (!wanted)
        return;
    bh__atomic_store(&pool->news, pool->news + 1, __ATOMIC_RELAXED);
    wanted = wanted > pool->looking ? wanted - pool->looking : 0;
    if (wanted >= pool->sleeping) {
        pthread_cond_broadcast(&pool->work);
        return;
    }
    for (i = 0; i < wanted; i++)
        pthread_cond_signal(&pool->work);
}

static void worker_main(void *argument)
{
    bh__pool *pool = argument;
    uint32_t vain = 0, skips = 0;
    int looks_out = 0;

    lock_pool(pool);
    while (!pool->stop) {
        if (wants_worker(pool)) {
            job *j = pool->first;
            const uint64_t index = take(pool, j);

            pool->busy++;
            run_one(pool, j, index);
            pool->busy--;
            looks_out = !skips;
            skips -= skips > 0;
        } else if (looks_out) {
            const uint64_t news = pool->news;

            pool->looking++;
            pthread_mutex_unlock(&pool->lock);
            look_out(pool, &pool->news, 0, news);
            lock_pool(pool);
            pool->looking--;
            looks_out = 0;
            vain = pool->news != news ? 0 : vain < SKIPS_MOST ? 2 * vain + 1 : SKIPS_MOST;
            skips = vain;
        } else {
            pool->sleeping++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->sleeping--;
        }
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Starts the workers that are missing; with the lock held. The next job tries again for those that the
 * system refused. */
static void start_workers(bh__pool *pool)
{
    const bh_system *system = &pool->system;

    while (pool->started + 1 < pool->threads) {
        if (system->thread_start(system->state, worker_main, pool, &pool->worker[pool->started]))
            break;
        pool->started++;
    }
}

static int is_child(const bh__pool *pool)
{
    return pool->system.process_id(pool->system.state) != pool->process;
}

static void pool_run(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                     uint64_t count)
{
    bh__pool *pool = state;
    job j = {task, argument, count, 0, 0, NULL};
    uint64_t i;
    job **at;

    if (count < 2 || pool->threads < 2 || is_child(pool)) {
        for (i = 0; i < count; i++)
            task(argument, i);
        return;
    }
    lock_pool(pool);
    start_workers(pool);
    for (at = &pool->first; *at; at = &(*at)->next)
        continue;
    *at = &j;
    pool->left += count;
    pool->busy++;
    call_workers(pool);
    while (j.taken < j.count)
        run_one(pool, &j, take(pool, &j));
    pool->busy--;
    call_workers(pool);
    if (j.finished < j.count) {
        pthread_mutex_unlock(&pool->lock);
        look_out(pool, &j.finished, 1, j.count);
        lock_pool(pool);
    }
    while (j.finished < j.count)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static uint32_t pool_width(void *state)
{
    bh__pool *pool = state;

    return pool->threads;
}

bh__pool *bh__pool_create(const bh_system *system, uint32_t threads)
{
    bh__pool *pool = system->allocate(system->state, pool_bytes(threads));

    if (!pool)
        return NULL;
    pool->system = *system;
    pool->process = system->process_id(system->state);
    pool->threads = threads;
    pool->started = pool->busy = pool->looking = pool->sleeping = 0;
    pool->left = pool->news = 0;
    pool->stop = 0;
    pool->first = NULL;
    if (pthread_mutex_init(&pool->lock, NULL))
        goto no_lock;
    if (pthread_cond_init(&pool->work, NULL))
        goto no_work;
    if (pthread_cond_init(&pool->done, NULL))
        goto no_done;
    return pool;

no_done:
    pthread_cond_destroy(&pool->work);
no_work:
    pthread_mutex_destroy(&pool->lock);
no_lock:
    system->release(system->state, pool, pool_bytes(threads));
    return NULL;
}

void bh__pool_destroy(bh__pool *pool)
{
    bh_system system;
    uint32_t i;

    if (!pool)
        return;
    system = pool->system;
    if (!is_child(pool)) {
        pthread_mutex_lock(&pool->lock);
        pool->stop = 1;
        bh__atomic_store(&pool->news, pool->news + 1, __ATOMIC_RELAXED);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->lock);
        for (i = 0; i < pool->started; i++)
            system.thread_join(system.state, pool->worker[i]);
        pthread_cond_destroy(&pool->done);
        pthread_cond_destroy(&pool->work);
        pthread_mutex_destroy(&pool->lock);
    }
    system.release(system.state, pool, pool_bytes(pool->threads));
}

bh_executor bh__pool_executor(bh__pool *pool)
{
    bh_executor executor;

    executor.state = pool;
    executor.width = pool_width;
    executor.run = pool_run;
    return executor;
}
