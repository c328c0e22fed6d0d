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

void threads_run(uint32_t threads, void (*work)(void *argument), void *argument)
{
    struct group group = {.work = work, .argument = argument};
    pthread_t thread;

    pthread_mutex_init(&group.lock, NULL);
    pthread_cond_init(&group.ended, NULL);
    pthread_mutex_lock(&group.lock);
    while (group.running + 1 < threads && pthread_create(&thread, NULL, run, &group) == 0) {
        pthread_detach(thread);
        group.running++;
    }
    pthread_mutex_unlock(&group.lock);

    work(argument);

    pthread_mutex_lock(&group.lock);
    while (group.running > 0)
        pthread_cond_wait(&group.ended, &group.lock);
    pthread_mutex_unlock(&group.lock);
    pthread_cond_destroy(&group.ended);
    pthread_mutex_destroy(&group.lock);
}
