/*
 * pingpong.h - the physical limit of every ping-pong: one cache line that PE 0 and PE 1 write alternately by plain
 * atomics on the address from shmem_ptr.
 *
 * The words of a pair are two lines apart, because processors fetch adjacent lines together.
 */
#ifndef PINGPONG_H
#define PINGPONG_H

#include "bench.h"

enum { PINGPONG_STRIDE = 16 }; /* in 8 B words */

struct pingpong_bare {
    long *mine;  /* written by the peer, release; read here, acquire */
    long *peers; /* the peer's mine: written here, release */
    long turn;
};

static inline void pingpong_bare_await(struct pingpong_bare *p)
{
    while (__atomic_load_n(p->mine, __ATOMIC_ACQUIRE) < p->turn)
        ;
}

/* One call is a round trip; PE 0 serves. PEs above 1 do nothing. */
static inline void pingpong_bare_loop(void *arg, long calls)
{
    struct pingpong_bare *p = (struct pingpong_bare *)arg;
    int me = shmem_my_pe();

    for (; me < 2 && calls > 0; calls--) {
        p->turn++;
        if (me == 1)
            pingpong_bare_await(p);
        __atomic_store_n(p->peers, p->turn, __ATOMIC_RELEASE);
        if (me == 0)
            pingpong_bare_await(p);
    }
}

#endif
