/*
 * wait.h - how a wait goes on: how often it looks at its condition, when it yields the core, when and for how long it sleeps.
 * The functions have no state, make no calls and read no clock. Times are in ns. host/ops/wait.c asks them and does what they say.
 */
#ifndef SHI_POLICY_WAIT_H
#define SHI_POLICY_WAIT_H

#include <stdint.h>

#include "host/util/config.h"

/* What does not change while the library is up. */
struct shi_wait_facts {
    enum shi_wait_mode mode; /* SHMEM_WAIT */
    long spin;               /* SHMEM_TEST_SPIN, or SHI_CONFIG_AUTO */
    int oversubscribed;      /* the node has more PEs than cores */
    int network;             /* there is one */
    int neighbours;          /* other PEs of the node store in this one's memory */
};

#define SHI_WAIT_NEVER UINT64_MAX

struct shi_wait_rules {
    unsigned polls[2]; /* looks at the condition between two polls of progress; [0]: where there is no source of progress */
    unsigned rounds;   /* polls of progress before the first yield */
    unsigned tests;    /* a thread yields once so many tests have failed; 0: PEs have cores of their own, no test yields */
    uint64_t yields_for, tests_yield_for; /* then they sleep; SHI_WAIT_NEVER: they do not */
};

struct shi_wait_rules shi_wait_rules_of(const struct shi_wait_facts *f);

/* What the yields of a process have shown of its cores. Zero: nothing computes on them. */
struct shi_wait_cores {
    uint64_t busy_for, busy_until;
    int by_others; /* what computes is not a PE of this node */
};

/* After a yield. all_wait: all PEs of the node wait. */
struct shi_wait_cores shi_wait_after_yield(struct shi_wait_cores c, uint64_t before, uint64_t after, int all_wait);

/* Does the next decision depend on whether all PEs of the node wait? */
int shi_wait_needs_all(struct shi_wait_cores c);

/* 1: sleep now, 0: yield. since: the first yield, 0: before. yields_for: as above. */
int shi_wait_is_to_sleep(struct shi_wait_cores c, uint64_t yields_for, uint64_t since, uint64_t now, int all_wait);

/* A sleep's time limit, when the wait has taken so long. Also of the proxy thread, for its time without requests. */
uint64_t shi_wait_sleeps_for(uint64_t waited);

/* How the proxy thread waits after `idle` rounds without requests: as waits do, or it polls, or sleeps. On shared cores, and where kernels
 * run on the host's cores, it sleeps soon: a thread that wakes from sleep gets a core at once, one that yields only when the kernels that
 * poll for its reply have used up their time slices. */
enum shi_wait_proxy { SHI_PROXY_WAITS, SHI_PROXY_POLLS, SHI_PROXY_SLEEPS };
enum shi_wait_proxy shi_wait_of_proxy(unsigned idle, int oversubscribed, int kernels_on_cores);

/* The first sleep of a wait, and a sleep between tests. */
uint64_t shi_wait_first_sleep(void);

/* A sleep without the doorbell after it has rung in_vain times, where sleeps last at most `limit`. */
uint64_t shi_wait_deaf_for(unsigned in_vain, uint64_t limit);

/* Tests of a thread: has the program computed since the last yield, so that they do not fail in a row? */
int shi_wait_has_computed(uint64_t yielded, uint64_t now);

/* A PE that waits until then says so in shared memory: now, after it has said `said`? And does a PE that has said so wait now? */
int shi_wait_is_to_say(uint64_t said, uint64_t until);
int shi_wait_does_wait(uint64_t said, uint64_t now);

/* How long after a look whether a wait may end the next one is; 0: the first. */
uint64_t shi_wait_looks_after(uint64_t last);

#endif
