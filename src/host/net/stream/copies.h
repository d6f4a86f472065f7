/*
 * copies.h - copies between device memory, which the host cannot access, and host memory that the device can access: gathered while a poll
 * handles requests or messages, then submitted together. The device makes them in order; nothing waits between those of one submission.
 *
 * An agent, the proxy or the thread that polls the network, has one struct shi_copies, for one queue of the device. A copy has a number: it
 * has ended when so many copies of the agent have. Its buffers stay until then.
 *
 *   word      written by                         read by    order
 *   counts    agent, one thread at a time        finalize   relaxed
 *   the rest  agent, one thread at a time        the same   plain; the device reads and writes buffers from the submission on
 */
#ifndef SHI_COPIES_H
#define SHI_COPIES_H

#include "host/util/device_memory.h"

enum shi_copies_agent { SHI_COPIES_REQUESTS, SHI_COPIES_RECORDS, SHI_COPIES_AGENTS };
enum { SHI_COPIES_MOST = 64 }; /* of one submission */

/* For statistics. rounds: of updates, each of which the host waits for once before it writes (words.h). */
extern struct shi_copies_counts {
    uint64_t copies, submissions, updates, rounds;
} shi_copies_counts[SHI_COPIES_AGENTS];
extern const char *const shi_copies_agent_name[SHI_COPIES_AGENTS];

static inline void shi_copies_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline struct shi_copies_counts shi_copies_counted(enum shi_copies_agent agent)
{
    const struct shi_copies_counts *c = &shi_copies_counts[agent];
    return (struct shi_copies_counts){__atomic_load_n(&c->copies, __ATOMIC_RELAXED), __atomic_load_n(&c->submissions, __ATOMIC_RELAXED),
                                      __atomic_load_n(&c->updates, __ATOMIC_RELAXED), __atomic_load_n(&c->rounds, __ATOMIC_RELAXED)};
}

/* The owner fills in the first part, the rest being 0. */
struct shi_copies {
    int (*start)(const struct shi_device_copy *c, int n); /* 0 or -errno */
    int (*look)(uint64_t *n);                             /* how many have ended; 0 or -errno */
    const char *routine;                                  /* for lines */
    enum shi_copies_agent agent;

    uint64_t started, ended; /* started: submitted */
    int n, err;              /* gathered; of a submission that failed, or 0 */
    struct shi_device_copy gathered[SHI_COPIES_MOST];
};

/* Gather a copy. beside: it may overlap with the one gathered before. Returns its number. A full list is submitted first. */
uint64_t shi_copies_add(struct shi_copies *c, void *to, const void *from, size_t bytes, int beside);

/* Submit what is gathered. 0, or -errno of this or an earlier submission. */
int shi_copies_submit(struct shi_copies *c);

/* Look which copies have ended. 1: further ones have; 0; -errno. */
int shi_copies_look(struct shi_copies *c);

#endif
