/* wait.c - the slow half of wait loops: yield, sleep, notice an abort. */
#include "host/ops/wait.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "host/ops/world.h"
#include "host/util/log.h"

enum { POLLS_ALONE = 4000, POLLS_A_LOOK = 16, YIELD_NS = 2000000, FIRST_SLEEP_US = 20, LAST_SLEEP_US = 1000 };

unsigned shi_wait_polls[2] = {POLLS_ALONE, 0};
int (*shi_wait_work)(void);
_Thread_local const char *shi_wait_inside;
static unsigned looks = POLLS_ALONE; /* at the messages, before the core is yielded */

/* A look at shared memory costs no more than a poll, one at the network several. */
void shi_wait_set(long configured, int crowded, int network)
{
    unsigned polls = configured != SHI_CONFIG_AUTO ? (unsigned)configured : crowded ? 0 : POLLS_ALONE;
    unsigned a_look = network ? POLLS_A_LOOK : 0;
    shi_wait_polls[0] = polls;
    shi_wait_polls[1] = polls < a_look ? polls : a_look;
    looks = network ? polls / POLLS_A_LOOK : polls;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void shi_wait_refuse(const char *routine)
{
    shi_die(routine, "a wait for other PEs inside %s, which might never end", shi_wait_inside);
}

void shi_wait_slow(struct shi_wait *w)
{
    int aborted = shi_shm_aborted(&shi_world.shm);
    if (shi_unlikely(aborted)) { /* the PE that aborted has said why; the launcher ends us, with its status */
        sleep(2);
        _exit(aborted - 1);
    }
    int some = shi_progress();
    if (shi_unlikely(shi_wait_work != NULL) && !shi_progress_own)
        some += shi_wait_work();
    if (some) { /* something came: perhaps what we wait for */
        *w = SHI_WAIT_INIT;
        return;
    }
    if (shi_progress_on && w->looks < looks) {
        w->polls = 0;
        w->looks++;
        shi_relax();
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
