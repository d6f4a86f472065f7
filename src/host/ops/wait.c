/* wait.c - the slow half of wait loops: yield, sleep, notice an abort. */
#include "host/ops/wait.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "host/net/progress.h"
#include "host/ops/world.h"

enum { POLLS_ALONE = 4000, POLLS_A_LOOK = 16, YIELD_NS = 2000000, FIRST_SLEEP_US = 20, LAST_SLEEP_US = 1000 };

unsigned shi_wait_polls = POLLS_ALONE;
static unsigned looks; /* at the network, before the core is yielded */

void shi_wait_set(long configured, int crowded, int network)
{
    unsigned polls = configured != SHI_CONFIG_AUTO ? (unsigned)configured : crowded ? 0 : POLLS_ALONE;
    shi_wait_polls = network && polls > POLLS_A_LOOK ? POLLS_A_LOOK : polls;
    looks = network ? polls / POLLS_A_LOOK : 0;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void shi_wait_slow(struct shi_wait *w)
{
    int aborted = shi_shm_aborted(&shi_world.shm);
    if (shi_unlikely(aborted)) { /* the PE that aborted has said why; the launcher ends us, with its status */
        sleep(2);
        _exit(aborted - 1);
    }
    if (shi_progress()) { /* something came: perhaps what we wait for */
        *w = SHI_WAIT_INIT;
        return;
    }
    w->polls = looks ? 0 : w->polls;
    if (w->looks < looks) {
        w->looks++;
        return;
    }
    if (w->sleep_us == 0) {
        sched_yield();
        uint64_t now = now_ns();
        if (w->since_ns == 0)
            w->since_ns = now;
        else if (now - w->since_ns > YIELD_NS)
            w->sleep_us = FIRST_SLEEP_US;
        return;
    }
    if (shi_progress_rest())
        return;
    struct timespec t = {.tv_nsec = w->sleep_us * 1000L};
    nanosleep(&t, NULL);
    w->sleep_us = w->sleep_us * 2 < LAST_SLEEP_US ? w->sleep_us * 2 : LAST_SLEEP_US;
}
