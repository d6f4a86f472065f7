/*
 * survive.c - PEs that use PMIx and not the library, of which some die, for survive.sh. Arguments: WHAT and a number.
 *
 * All PEs pass what is the end of shmem_init for oshrun, and a PE that lives to the end waits for the file GO, if that is set, prints one line and exits with
 * status 0, unless WHAT says otherwise.
 */
#include <pmix.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "host/boot/boot.h"

static pmix_proc_t me;
static unsigned npes;

static void check(const char *what, pmix_status_t rc)
{
    if (rc == PMIX_SUCCESS)
        return;
    fprintf(stderr, "survive: PE %u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
    _exit(9);
}

/* A fence of all PEs. One in which the first PE of the job dies ends with PMIX_ERR_PARTIAL_SUCCESS at the others. */
static void fence(int collect)
{
    bool data = collect;
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &data, PMIX_BOOL);
    pmix_status_t rc = PMIx_Fence(NULL, 0, &info, 1);
    check("fence", rc == PMIX_ERR_PARTIAL_SUCCESS ? PMIX_SUCCESS : rc);
}

/* The same, and a namespace that is not there is named, too. Then libpmix asks oshrun, which answers with PMIX_SUCCESS, and no fence
 * hangs when two PEs die at once: libpmix completes a fence of local PEs alone by itself, twice in that case. */
static void sure_fence(int collect)
{
    bool data = collect;
    pmix_info_t info;
    pmix_proc_t who[2];

    PMIX_LOAD_PROCID(&who[0], me.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&who[1], "oshrun-nobody", PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &data, PMIX_BOOL);
    check("fence", PMIx_Fence(who, 2, &info, 1));
}

/* As at the end of shmem_init: a death ends the job until all PEs have passed it. */
static void start_fence(void)
{
    bool yes = true;
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, SHI_SURVIVE_NAME, &yes, PMIX_BOOL);
    check("fence", PMIx_Fence(NULL, 0, &info, 1));
}

static void put(const char *key, uint32_t number)
{
    pmix_value_t value;

    PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
    check("put", PMIx_Put(PMIX_GLOBAL, key, &value));
    check("commit", PMIx_Commit());
}

static uint32_t get(unsigned pe, const char *key)
{
    pmix_proc_t from;
    pmix_value_t *value;

    PMIX_LOAD_PROCID(&from, me.nspace, pe);
    check("get", PMIx_Get(&from, key, NULL, 0, &value));
    uint32_t number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number;
}

static void find_size(void)
{
    pmix_proc_t all;
    pmix_value_t *value;

    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("job size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));
    npes = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
}

static void wait_for_go(void)
{
    const char *go = getenv("GO");

    while (go && access(go, F_OK))
        usleep(10000);
}

/* Each PE's number is there, also of those that died. */
static void end(void)
{
    unsigned wrong = 0;

    wait_for_go();
    for (unsigned i = 0; i < npes; i++)
        wrong += get(i, "number") != 100 + i;
    check("finalize", PMIx_Finalize(NULL, 0));
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("PE %u ended, %u wrong\n", me.rank, wrong);
}

static uint32_t next(uint32_t *state) /* xorshift */
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* A timer kills this PE at a moment of the next `us` microseconds; one PE, and a quarter of the others, lives. */
static void may_die(uint32_t seed, uint32_t us)
{
    uint32_t state = 1 + seed * 2654435761u + me.rank * 40503u;

    for (int i = 0; i < 8; i++)
        next(&state);
    if (me.rank == seed % npes || next(&state) % 4 == 0)
        return;
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 1 + next(&state) % us}}, NULL);
}

static void random_deaths(uint32_t seed)
{
    enum { ROUNDS = 60, WITHIN_US = 60000 };
    uint32_t state = seed + 77 + me.rank;

    may_die(seed, WITHIN_US);
    for (int i = 0; i < ROUNDS; i++) {
        usleep(next(&state) % 2000);
        sure_fence(i % 2);
    }
    end();
}

/* PEs 1 to 3 die by this signal one after the other, each between two fences of the others; what the others publish then arrives. */
static void deaths_in_turn(int sig)
{
    for (unsigned i = 1; i < npes && i < 4; i++) {
        if (me.rank == i)
            kill(getpid(), sig);
        fence(i % 2);
    }
    put("later", 200 + me.rank);
    fence(1);
    for (unsigned i = 0; i < npes; i++)
        if ((i < 1 || i > 3) && get(i, "later") != 200 + i)
            _exit(8);
    end();
}

/* PE 1 waits for its death, the others for PE 1 in a fence. */
static void at_once(void)
{
    printf("pid %u %d\n", me.rank, (int)getpid());
    fflush(stdout);
    while (me.rank == 1)
        pause();
    sure_fence(0);
    end();
}

/* PE 1 waits for its death, the others for GO, then they print what oshrun is busy with when it goes on. */
static void early(void)
{
    printf("pid %u %d\n", me.rank, (int)getpid());
    fflush(stdout);
    while (me.rank == 1)
        pause();
    wait_for_go();
    for (int i = 0; i < 25000; i++)
        printf("x\n");
    fflush(stdout);
}

/* PE 1 ends while a process that it started runs. */
static void orphan(void)
{
    if (me.rank == 1) {
        pid_t child = fork();
        while (child == 0)
            pause();
        printf("child %d\n", (int)child);
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    fence(0);
    end();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;

    check("init", PMIx_Init(&me, NULL, 0));
    find_size();
    put("number", 100 + me.rank);
    fence(1);
    if (!strcmp(what, "early"))
        early();
    start_fence();
    if (!strcmp(what, "random"))
        random_deaths((uint32_t)number);
    else if (!strcmp(what, "turn"))
        deaths_in_turn(number);
    else if (!strcmp(what, "once"))
        at_once();
    else if (!strcmp(what, "orphan"))
        orphan();
    else if (!strcmp(what, "leave")) { /* PE 1 ends with status 0, without finalize */
        if (me.rank == 1)
            _exit(0);
        fence(0);
        end();
    } else if (!strcmp(what, "status")) { /* PE 1, and PE 2 after it, end with this status and one more */
        for (unsigned i = 1; i < 3; i++) {
            if (me.rank == i)
                _exit(number + (int)i - 1);
            fence(0);
        }
        end();
    } else if (!strcmp(what, "abort")) { /* PE 1 dies, then PE 2 ends the job */
        if (me.rank == 1)
            kill(getpid(), SIGKILL);
        fence(0);
        if (me.rank == 2)
            PMIx_Abort(number, "as told", NULL, 0);
        pause();
    } else if (!strcmp(what, "wait")) { /* PE 1 dies, the others wait for a signal */
        if (me.rank == 1)
            kill(getpid(), SIGKILL);
        fence(0);
        printf("waiting\n");
        fflush(stdout);
        pause();
    } else
        end();
    return 0;
}
