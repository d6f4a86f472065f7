/*
 * pool.c - helper threads for launches. The launching thread runs work-groups itself, so a launch makes progress even while
 * kernels that wait occupy every helper.
 */
#include "ze_cpu/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "ze_cpu/config.h"
#include "ze_cpu/run.h"

/*
 * All under `lock`:
 *   launches  launches that still need helpers
 *   sleeping  helpers without work
 *   started   helpers in total
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static struct zc_launch *launches;
static unsigned sleeping, started;

static void withdraw(struct zc_launch *l)
{
    struct zc_launch **at = &launches;
    while (*at && *at != l)
        at = &(*at)->waiting;
    if (*at)
        *at = l->waiting;
}

static void *helper(void *unused)
{
    struct zc_worker w = {.group = NULL};
    prctl(PR_SET_TIMERSLACK, ZC_TIMER_SLACK_NS);
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!launches) {
            sleeping++;
            pthread_cond_wait(&work, &lock);
            sleeping--;
        }
        struct zc_launch *l = launches;
        l->helping++;
        if (!--l->wanted)
            withdraw(l);
        pthread_mutex_unlock(&lock);
        zc_run_groups(&w, l);
        pthread_mutex_lock(&lock);
        if (!--l->helping)
            pthread_cond_broadcast(&left);
    }
    return unused;
}

/* Start threads until `wanted` helpers sleep or the limit is reached. The lock is held. */
static void start_helpers(unsigned wanted)
{
    while (sleeping < wanted && started + 1 < zc_config.threads) {
        pthread_t t;
        if (pthread_create(&t, NULL, helper, NULL))
            return;
        pthread_detach(t);
        started++;
        wanted--;
    }
}

int zc_pool_run(struct zc_worker *w, struct zc_launch *l)
{
    l->total = (uint64_t)l->count[0] * l->count[1] * l->count[2];
    uint64_t others = l->total ? l->total - 1 : 0;
    l->wanted = others < zc_config.threads - 1 ? (unsigned)others : zc_config.threads - 1;
    l->workers = l->wanted + 1;
    bool helped = l->wanted; /* read before helpers change it */
    if (helped) {
        pthread_mutex_lock(&lock);
        l->waiting = launches;
        launches = l;
        start_helpers(l->wanted);
        pthread_cond_broadcast(&work);
        pthread_mutex_unlock(&lock);
    }
    zc_run_groups(w, l);
    if (helped) {
        pthread_mutex_lock(&lock);
        withdraw(l);
        while (l->helping)
            pthread_cond_wait(&left, &lock);
        pthread_mutex_unlock(&lock);
    }
    return atomic_load_explicit(&l->fault, memory_order_relaxed) ? -1 : 0;
}
