/*
 * Threads for a while (see threads.h). They are detached and counted rather than joined: when an
 * error ends the program (error.h) from one thread, another may have ended already, and a thread
 * that was to be joined and never is counts as a mistake.
 */
#define _POSIX_C_SOURCE 200809L

#include "threads.h"

#include <pthread.h>

struct group {
    void (*work)(void *argument);
    void *argument;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    uint32_t running; /* threads besides the calling one */
};

static void *run(void *argument)
{
    struct group *group = argument;

    group->work(group->argument);
    pthread_mutex_lock(&group->lock);
    group->running--;
    pthread_cond_signal(&group->ended); /* with the lock held: without it the group may be gone */
    pthread_mutex_unlock(&group->lock);
    return NULL;
}

/* Where the limit of the stack (`ulimit -s`) is small the system's default for threads is so, too. */
static bool start(pthread_t *thread, struct group *group)
{
    pthread_attr_t attributes;
    size_t bytes;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    bool started = pthread_attr_getstacksize(&attributes, &bytes) == 0 &&
                   (bytes >= threads_stack_bytes ||
                    pthread_attr_setstacksize(&attributes, threads_stack_bytes) == 0) &&
                   pthread_create(thread, &attributes, run, group) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* Starts up to `most` threads; answers how many. */
static uint32_t group_start(struct group *group, uint32_t most)
{
    pthread_t thread;
    uint32_t started = 0;

    pthread_mutex_init(&group->lock, NULL);
    pthread_cond_init(&group->ended, NULL);
    pthread_mutex_lock(&group->lock);
    while (started < most && start(&thread, group)) {
        pthread_detach(thread);
        started++;
    }
    group->running = started;
    pthread_mutex_unlock(&group->lock);
    return started;
}

static void group_wait(struct group *group)
{
    pthread_mutex_lock(&group->lock);
    while (group->running > 0)
        pthread_cond_wait(&group->ended, &group->lock);
    pthread_mutex_unlock(&group->lock);
    pthread_cond_destroy(&group->ended);
    pthread_mutex_destroy(&group->lock);
}

void threads_run(uint32_t threads, void (*work)(void *argument), void *argument)
{
    struct group group = {.work = work, .argument = argument};

    group_start(&group, threads - 1);
    work(argument);
    group_wait(&group);
}

bool threads_run_elsewhere(void (*work)(void *argument), void *argument)
{
    struct group group = {.work = work, .argument = argument};
    bool started = group_start(&group, 1) == 1;

    group_wait(&group);
    return started;
}
