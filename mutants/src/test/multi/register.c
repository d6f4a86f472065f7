/*
 * register.c - memory of one thread is registered and withdrawn with the network while the PE serves reads of other PEs. Catches: a
 * provider's table of keys that a registration changes while a request is looked up there: messages are lost, or the PE crashes.
 */
#include <pthread.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "../tap_pes.h"

enum { READ = 8200, SENT = 100000, ROUNDS = 1500 }; /* READ: the network reads it */
static char area[READ], got[READ];
static int ended;

static void *reads(void *arg)
{
    while (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
        for (int i = 1; i < n_pes; i++)
            shmem_getmem(got, area, READ, (me + i) % n_pes);
    return arg;
}

static int rounds = ROUNDS;

/* Each round registers this PE's message, and the target reads it. */
static void registrations(void)
{
    pthread_t reader;
    char *out = malloc(SENT), *in = malloc(SENT);
    shmem_barrier_all();
    CHECK(out && in && pthread_create(&reader, NULL, reads, NULL) == 0);
    for (int i = 0; i < rounds; i++) {
        shmemx_tag_request_t r;
        memset(out, i + me, SENT);
        shmemx_tag_isend(SHMEM_TEAM_WORLD, out, SENT, 1, (me + 1) % n_pes, &r);
        shmemx_tag_recv(SHMEM_TEAM_WORLD, in, SENT, 1, ~0ull, (me + n_pes - 1) % n_pes, NULL);
        shmemx_tag_wait(&r, NULL);
        CHECK(in[0] == (char)(i + (me + n_pes - 1) % n_pes) && in[SENT - 1] == in[0]);
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    CHECK(pthread_join(reader, NULL) == 0);
    shmem_barrier_all();
    free(out);
    free(in);
}

/* usage: register [ROUNDS] */
int main(int argc, char **argv)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    tap_pes_begin();
    RUN(registrations, "registrations beside reads of other PEs");
    shmem_finalize();
    return tap_end();
}
