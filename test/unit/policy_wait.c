/*
 * policy_wait.c - tables of situations and of what src/host/policy/wait.c decides in them, and whole waits under a clock of this test:
 * a yield, a sleep and a ring take what the situation says.
 */
#include "host/policy/wait.h"

#include <stdio.h>

#include "../tap.h"

#define US 1000ull
#define MS (1000 * US)

#define AUTO SHI_WAIT_MODE_AUTO
#define ACTIVE SHI_WAIT_MODE_ACTIVE
#define PASSIVE SHI_WAIT_MODE_PASSIVE
#define DOORBELL SHI_WAIT_MODE_DOORBELL

/* Catches: looks before the first yield where PEs share cores, or none where each has one; a poll of the network at each look beside PEs
 * that store; one only after many looks where nothing else ends a wait; tests that yield on cores of their own, or never. */
static void rules(void)
{
    static const struct {
        struct shi_wait_facts is;
        unsigned polls[2], rounds, tests;
        uint64_t yields_for, tests_yield_for;
    } of[] = {
        /* mode, spin, oversubscribed, network, neighbours */
        {{AUTO, -1, 0, 0, 1}, {4000, 0}, 4000, 0, 60 * MS, 2 * MS},
        {{AUTO, -1, 1, 0, 1}, {0, 0}, 0, 10, 60 * MS, 2 * MS},
        {{AUTO, -1, 0, 1, 0}, {4000, 0}, 250, 0, 60 * MS, 2 * MS},
        {{AUTO, -1, 0, 1, 1}, {4000, 16}, 250, 0, 60 * MS, 2 * MS},
        {{AUTO, -1, 1, 1, 1}, {0, 0}, 0, 10, 60 * MS, 2 * MS},
        {{AUTO, 0, 0, 1, 1}, {0, 0}, 0, 0, 60 * MS, 2 * MS},
        {{AUTO, 8, 1, 1, 1}, {8, 8}, 0, 8, 60 * MS, 2 * MS},
        {{AUTO, 0, 1, 0, 1}, {0, 0}, 0, 1, 60 * MS, 2 * MS},
        {{ACTIVE, -1, 1, 0, 1}, {0, 0}, 0, 10, SHI_WAIT_NEVER, SHI_WAIT_NEVER},
        {{PASSIVE, -1, 0, 0, 1}, {4000, 0}, 4000, 0, 100 * US, 100 * US},
        {{DOORBELL, -1, 1, 0, 1}, {0, 0}, 0, 10, 100 * US, 100 * US},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct shi_wait_rules r = shi_wait_rules_of(&of[i].is);
        CHECKF(r.polls[0] == of[i].polls[0] && r.polls[1] == of[i].polls[1] && r.rounds == of[i].rounds && r.tests == of[i].tests &&
                   r.yields_for == of[i].yields_for && r.tests_yield_for == of[i].tests_yield_for,
               "situation %zu: polls %u %u, rounds %u, tests %u, yields for %lu and %lu", i, r.polls[0], r.polls[1], r.rounds, r.tests,
               (unsigned long)r.yields_for, (unsigned long)r.tests_yield_for);
    }
}

/* One wait after the other, for `total` ns: each ends `length` after it began, at the next look. */
struct course {
    uint64_t yield, length, total; /* a yield takes so long */
    int all_wait;
    long yields, sleeps, late; /* late: the latest end of a wait, after its length */
};

static void run(struct course *c, struct shi_wait_cores *cores)
{
    uint64_t now = 1000 * MS, end = now + c->total;
    while (now < end) {
        uint64_t began = now, since = 0;
        int sleeps = 0;
        do {
            sleeps = sleeps || shi_wait_is_to_sleep(*cores, 60 * MS, since, now, c->all_wait && shi_wait_needs_all(*cores));
            since = since ? since : now;
            if (sleeps) {
                now += shi_wait_sleeps_for(now - since);
                c->sleeps++;
            } else {
                *cores = shi_wait_after_yield(*cores, now, now + c->yield, c->all_wait && shi_wait_needs_all(*cores));
                now += c->yield;
                c->yields++;
            }
        } while (now - began < c->length);
        long late = (long)(now - began - c->length);
        c->late = late > c->late ? late : c->late;
    }
}

/* Catches: waits that lose a time slice to a process that computes in each wait; waits that sleep while nothing computes, or for long after
 * a PE of the node has computed; PEs that yield to other processes because all PEs wait; a wait that burns its core, or ends late. */
static void courses(void)
{
    static const struct {
        const char *what;
        struct course c;
        long yields[2], sleeps[2], late; /* at least, at most */
    } of[] = {
        {"alone, short waits", {.yield = 1 * US, .length = 10 * US, .total = 10 * MS}, {10000, 10000}, {0, 0}, 0},
        {"beside a process that computes", {.yield = 3 * MS, .length = 50 * US, .total = 1000 * MS}, {5, 12}, {20000, 60000}, 3 * MS},
        {"the same, 16 PEs whose yields take long", {.yield = 1 * MS, .length = 50 * US, .total = 10 * MS}, {10, 10}, {0, 0}, 1 * MS},
        {"all PEs wait", {.yield = 5 * US, .length = 50 * US, .total = 10 * MS, .all_wait = 1}, {2000, 2000}, {0, 0}, 0},
        {"all PEs wait, others compute", {.yield = 3 * MS, .length = 50 * US, .total = 1000 * MS, .all_wait = 1}, {5, 13}, {20000, 60000}, 3 * MS},
        {"one wait of 5 s", {.yield = 1 * US, .length = 5000 * MS, .total = 1}, {60000, 60002}, {1000, 2000}, 4 * MS},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct shi_wait_cores cores = {0};
        struct course c = of[i].c;
        run(&c, &cores);
        CHECKF(c.yields >= of[i].yields[0] && c.yields <= of[i].yields[1] && c.sleeps >= of[i].sleeps[0] && c.sleeps <= of[i].sleeps[1] &&
                   c.late <= of[i].late,
               "%s: %ld yields, %ld sleeps, %ld ns late", of[i].what, c.yields, c.sleeps, c.late);
    }
}

/* Catches: waits that go on sleeping when the PE of the node that computed waits, too; waits that yield to it while it computes. */
static void peer_computes(void)
{
    struct shi_wait_cores cores = {0};
    struct course computes = {.yield = 3 * MS, .length = 50 * US, .total = 20 * MS};
    struct course waits = {.yield = 1 * US, .length = 50 * US, .total = 1 * MS, .all_wait = 1};
    run(&computes, &cores);
    CHECKF(computes.yields == 1, "%ld yields while it computes", computes.yields);
    run(&waits, &cores);
    CHECKF(waits.sleeps == 0, "%ld sleeps while all wait", waits.sleeps);
    CHECK(!shi_wait_is_to_sleep(cores, 60 * MS, 0, 1001 * MS, 0));
}

/* Catches: SHMEM_WAIT=active that sleeps; a wait that yields beyond its time; a sleep that is too long for the wait, or too short. */
static void ends_of_yields(void)
{
    const struct shi_wait_cores none = {0}, busy = {20 * MS, 1000 * MS, 0}, others = {20 * MS, 1000 * MS, 1};
    static const uint64_t sleeps[][2] = {{0, 20 * US}, {640 * US, 20 * US}, {32 * MS, 1 * MS}, {128 * MS, 4 * MS}, {100000 * MS, 4 * MS}};
    CHECK(!shi_wait_is_to_sleep(none, 60 * MS, 0, 999 * MS, 0));
    CHECK(!shi_wait_is_to_sleep(none, 60 * MS, 900 * MS, 960 * MS, 0));
    CHECK(shi_wait_is_to_sleep(none, 60 * MS, 900 * MS, 960 * MS + 1, 0));
    CHECK(!shi_wait_is_to_sleep(none, SHI_WAIT_NEVER, 1, 5000 * MS, 0));
    CHECK(!shi_wait_is_to_sleep(busy, SHI_WAIT_NEVER, 1, 999 * MS, 0));
    CHECK(shi_wait_is_to_sleep(busy, 60 * MS, 0, 999 * MS, 0));
    CHECK(!shi_wait_is_to_sleep(busy, 60 * MS, 0, 999 * MS, 1));
    CHECK(shi_wait_is_to_sleep(others, 60 * MS, 0, 999 * MS, 1));
    CHECK(!shi_wait_is_to_sleep(others, 60 * MS, 0, 1000 * MS, 0));
    CHECK(shi_wait_after_yield(none, 1, 1500 * US + 1, 0).busy_until == 0);
    CHECK(shi_wait_after_yield(none, 1, 2 * MS, 0).busy_until == 22 * MS && shi_wait_after_yield(busy, 1, 2 * MS, 0).busy_until == 42 * MS);
    for (size_t i = 0; i < sizeof sleeps / sizeof *sleeps; i++)
        CHECKF(shi_wait_sleeps_for(sleeps[i][0]) == sleeps[i][1], "after %lu ns: %lu", (unsigned long)sleeps[i][0],
               (unsigned long)shi_wait_sleeps_for(sleeps[i][0]));
}

/* Catches: a PE that others' rings keep awake; a sleep without the doorbell longer than others; a program that computes between its tests
 * and sleeps; PEs that seem to wait while they compute; a job that hangs and never looks. */
static void rest(void)
{
    static const uint64_t deaf[] = {20 * US, 20 * US, 40 * US, 80 * US, 160 * US, 200 * US, 200 * US};
    for (unsigned i = 0; i < sizeof deaf / sizeof *deaf; i++)
        CHECKF(shi_wait_deaf_for(i, 200 * US) == deaf[i], "%u rings: %lu ns", i, (unsigned long)shi_wait_deaf_for(i, 200 * US));
    CHECK(shi_wait_deaf_for(4000000000u, 4 * MS) == 4 * MS);
    CHECK(!shi_wait_has_computed(1000 * US, 1020 * US) && shi_wait_has_computed(1000 * US, 1021 * US));
    CHECK(!shi_wait_is_to_say(1000 * US, 1500 * US) && shi_wait_is_to_say(1000 * US, 1501 * US) && shi_wait_is_to_say(1501 * US, 1500 * US));
    CHECK(shi_wait_does_wait(1000 * US, 2000 * US) && !shi_wait_does_wait(1000 * US, 2001 * US) && shi_wait_does_wait(1501 * US, 1500 * US));
    CHECK(shi_wait_looks_after(0) == 1000 * MS && shi_wait_looks_after(8000 * MS) == 16000 * MS && shi_wait_looks_after(16000 * MS) == 16000 * MS);
}

/* Catches: a proxy that takes the core from the kernels that it serves, that sleeps on a core of its own, or between two requests. */
static void proxy(void)
{
    CHECK(shi_wait_of_proxy(0, 0, 0) == SHI_PROXY_WAITS && shi_wait_of_proxy(5000, 0, 0) == SHI_PROXY_WAITS);
    CHECK(shi_wait_of_proxy(199, 0, 1) == SHI_PROXY_POLLS && shi_wait_of_proxy(200, 0, 1) == SHI_PROXY_SLEEPS);
    CHECK(shi_wait_of_proxy(0, 1, 0) == SHI_PROXY_SLEEPS && shi_wait_of_proxy(0, 1, 1) == SHI_PROXY_SLEEPS);
}

int main(void)
{
    RUN(rules, "waits: what the start decides");
    RUN(courses, "waits: situations of cores");
    RUN(peer_computes, "waits: a PE of the node computes, then waits");
    RUN(ends_of_yields, "waits: the end of yields, and sleeps");
    RUN(rest, "waits: rings, tests, signs, looks");
    RUN(proxy, "waits: the proxy thread");
    return tap_end();
}
