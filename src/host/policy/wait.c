/* wait.c - see wait.h. bench/README.md has the figures. */
#include "host/policy/wait.h"

#define US 1000ull
#define MS (1000 * US)
#define S (1000 * MS)

enum {
    /* Looks before the first yield where PEs have a core each, about 0.1 ms: 2 PEs on two cores; 16 cores. On shared cores none: 4 to 16
     * PEs on two cores. */
    LOOKS_ALONE = 4000,
    /* Looks for each poll of the network, which costs as much as some of them: nodes of several PEs. */
    LOOKS_A_POLL = 16,
    /* Tests that fail for each yield: 4 to 16 PEs on two cores, whose tests else keep a core for a time slice. */
    TESTS_A_YIELD = 10,
    /* Rounds of the proxy without requests, about 20 us, before it sleeps beside kernels on the CPU. */
    PROXY_POLLS = 200,
};

/* A wait yields for so long. It answers within some us and, in a wait of 5 s, uses 0.1 s of a core (no core is burnt). */
#define YIELDS_FOR (60 * MS)
/* The same with SHMEM_WAIT=passive. */
#define PASSIVE_FOR (100 * US)
/* The same for tests in a row. Each time that another process has the core between two tests looks as if the program computed: 60 ms
 * would begin again without end. */
#define TESTS_FOR (2 * MS)
/* A program that takes longer from one yield of its tests to the next computes between them. */
#define COMPUTES (20 * US)
/* A yield that takes so long has given a time slice to a process that computes; among PEs that wait a yield takes some us. */
#define LONG_YIELD (1500 * US)
/* Waits sleep for so long after a long yield, twice as long after the next one. 4 and 8 PEs on two cores beside two processes that compute:
 * a barrier takes 0.1 ms, with a long yield in each wait 2 ms, in every 20 ms 0.4 ms. Shorter at first: 2 PEs on two cores, one long yield. */
#define FIRST_BUSY (20 * MS)
#define LAST_BUSY (320 * MS)
/* A PE says that it waits no more often than this, and counts as waiting for twice as long. */
#define SAYS_EVERY (500 * US)
/* The time limit of a sleep is 1/32 of the wait, within limits: a store that rings no doorbell is found so late. */
#define FIRST_SLEEP (20 * US)
#define LAST_SLEEP (4 * MS)
enum { SLEEPS_OF_WAIT = 32 };
/* Between looks whether a wait may end. */
#define FIRST_LOOK S
#define LAST_LOOK (16 * S)

struct shi_wait_rules shi_wait_rules_of(const struct shi_wait_facts *f)
{
    int is_auto = f->spin == SHI_CONFIG_AUTO, passive = f->mode == SHI_WAIT_MODE_PASSIVE || f->mode == SHI_WAIT_MODE_DOORBELL;
    unsigned looks = !is_auto ? (unsigned)f->spin : f->oversubscribed ? 0 : LOOKS_ALONE;
    unsigned a_poll = f->network && f->neighbours ? LOOKS_A_POLL : 0; /* without neighbours only the network makes a condition true */
    struct shi_wait_rules r = {.polls = {looks, looks < a_poll ? looks : a_poll}, .rounds = f->network ? looks / LOOKS_A_POLL : looks};
    if (f->oversubscribed)
        r.tests = is_auto ? TESTS_A_YIELD : looks ? looks : 1;
    r.yields_for = f->mode == SHI_WAIT_MODE_ACTIVE ? SHI_WAIT_NEVER : passive ? PASSIVE_FOR : YIELDS_FOR;
    r.tests_yield_for = r.yields_for == YIELDS_FOR ? TESTS_FOR : r.yields_for;
    return r;
}

struct shi_wait_cores shi_wait_after_yield(struct shi_wait_cores c, uint64_t before, uint64_t after, int all_wait)
{
    if (after - before <= LONG_YIELD)
        return (struct shi_wait_cores){0};
    uint64_t busy_for = c.busy_for == 0 ? FIRST_BUSY : c.busy_for < LAST_BUSY ? c.busy_for * 2 : LAST_BUSY;
    return (struct shi_wait_cores){busy_for, after + busy_for, c.by_others || all_wait};
}

int shi_wait_needs_all(struct shi_wait_cores c)
{
    return c.busy_until && !c.by_others;
}

int shi_wait_is_to_sleep(struct shi_wait_cores c, uint64_t yields_for, uint64_t since, uint64_t now, int all_wait)
{
    if (yields_for == SHI_WAIT_NEVER)
        return 0;
    if (since && now - since > yields_for)
        return 1;
    return now < c.busy_until && !(all_wait && !c.by_others);
}

uint64_t shi_wait_sleeps_for(uint64_t waited)
{
    uint64_t ns = waited / SLEEPS_OF_WAIT;
    return ns < FIRST_SLEEP ? FIRST_SLEEP : ns < LAST_SLEEP ? ns : LAST_SLEEP;
}

enum shi_wait_proxy shi_wait_of_proxy(unsigned idle, int oversubscribed, int kernels_on_cores)
{
    if (!oversubscribed && !kernels_on_cores)
        return SHI_PROXY_WAITS;
    return oversubscribed || idle >= PROXY_POLLS ? SHI_PROXY_SLEEPS : SHI_PROXY_POLLS;
}

uint64_t shi_wait_first_sleep(void)
{
    return FIRST_SLEEP;
}

uint64_t shi_wait_deaf_for(unsigned in_vain, uint64_t limit)
{
    uint64_t ns = FIRST_SLEEP;
    while (in_vain-- > 1 && ns < limit)
        ns *= 2;
    return ns < limit ? ns : limit;
}

int shi_wait_has_computed(uint64_t yielded, uint64_t now)
{
    return now - yielded > COMPUTES;
}

int shi_wait_is_to_say(uint64_t said, uint64_t until)
{
    return until - said > SAYS_EVERY;
}

int shi_wait_does_wait(uint64_t said, uint64_t now)
{
    return (int64_t)(now - said) <= (int64_t)(2 * SAYS_EVERY);
}

uint64_t shi_wait_looks_after(uint64_t last)
{
    return last == 0 ? FIRST_LOOK : last < LAST_LOOK ? last * 2 : LAST_LOOK;
}
