/*
 * silent.c - PEs for net.sh: "stop" stops PE 1 like a host that hangs; "slow" stops PE 2 of three while one thread of
 * PE 0 floods it and another exchanges messages with PE 1, which then continues PE 2; "fds" checks the descriptors that
 * a child process inherits; "put", "put_nbi" and "get" make one long transfer; "many_puts" and "many_gets" have 160 MiB in
 * flight; "contexts" uses many private contexts.
 */
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long word;

/* The child lists its own descriptors: 0 to 2, the pipe, the folder that it reads, and those inherited from the PE. */
static int look(void)
{
    int bad = 0;
    char line[512];
    FILE *f = popen("ls -l /proc/self/fd", "re");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "socket:") || strstr(line, "eventpoll") || strstr(line, "eventfd")) {
            fprintf(stderr, "inherited: %s", line);
            bad = 1;
        }
    if (f)
        pclose(f);
    return bad || !f;
}

enum { FLOOD = 20000, PIECE = 1024, ROUNDS = 2000 };
static char area[PIECE];
static long pid, flooded, turn;

static void *flood(void *arg)
{
    for (int i = 0; i < FLOOD; i++)
        shmem_putmem(area, area, PIECE, 2);
    shmem_long_atomic_inc(&flooded, 2);
    return arg;
}

static int is_stopped(long p)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", p);
    FILE *f = fopen(path, "re");
    if (f) {
        if (fscanf(f, "%*d %*s %c", &state) != 1)
            state = 0;
        fclose(f);
    }
    return state == 'T';
}

/* One thread of PE 0 blocks; the other thread's messages must still arrive. */
static int slow(int me)
{
    pthread_t t;
    if (me == 2) {
        shmem_long_p(&pid, getpid(), 1);
        shmem_quiet();
        raise(SIGSTOP);
        shmem_long_wait_until(&flooded, SHMEM_CMP_EQ, 1);
    } else if (me == 0) {
        pthread_create(&t, NULL, flood, NULL);
        for (long r = 1; r <= ROUNDS; r++) {
            shmem_long_p(&turn, r, 1);
            shmem_long_wait_until(&turn, SHMEM_CMP_EQ, r);
        }
        shmem_quiet();
        pthread_join(t, NULL);
    } else {
        shmem_long_wait_until(&pid, SHMEM_CMP_NE, 0);
        while (!is_stopped(pid))
            sched_yield();
        for (long r = 1; r <= ROUNDS; r++) {
            shmem_long_wait_until(&turn, SHMEM_CMP_EQ, r);
            shmem_long_p(&turn, r, 0);
        }
        shmem_quiet();
        if (!is_stopped(pid))
            return 1;
        kill((pid_t)pid, SIGCONT);
    }
    shmem_barrier_all();
    return 0;
}

enum { LONG = 1 << 18, CONTEXTS = 12, LIVES = 3 };
static char here[LONG], there[LONG];
static long seen[CONTEXTS];

static int transfer(const char *how, int me)
{
    memset(here, 1, LONG);
    shmem_barrier_all();
    if (me == 0) {
        if (strcmp(how, "get") == 0)
            shmem_getmem(there, here, LONG, 1);
        else if (strcmp(how, "put") == 0)
            shmem_putmem(there, here, LONG, 1);
        else
            shmem_putmem_nbi(there, here, LONG, 1);
    }
    shmem_barrier_all();
    return there[LONG - 1] != ((strcmp(how, "get") == 0) == (me == 0));
}

enum { MANY = 5, MANY_BYTES = 32 << 20 };

/* On a slow network: no message comes for seconds from the PE whose data is on its way. */
static int many_transfers(const char *how, int me)
{
    char *to = shmem_malloc(MANY_BYTES), *from = shmem_malloc(MANY_BYTES);
    if (!to || !from)
        return 1;
    memset(from, 1, MANY_BYTES);
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < MANY; i++) {
        if (strcmp(how, "many_gets") == 0)
            shmem_getmem_nbi(to, from, MANY_BYTES, 1);
        else
            shmem_putmem_nbi(to, from, MANY_BYTES, 1);
    }
    shmem_barrier_all();
    return to[MANY_BYTES - 1] != ((strcmp(how, "many_gets") == 0) == (me == 0));
}

static int contexts(int me)
{
    int bad = 0;
    for (long life = 1; life <= LIVES; life++) {
        shmem_ctx_t ctx[CONTEXTS];
        for (int i = 0; i < CONTEXTS; i++) {
            bad |= shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx[i]) != 0;
            shmem_ctx_long_p(ctx[i], &seen[i], life * CONTEXTS + i, 1 - me);
        }
        for (int i = 0; i < CONTEXTS; i++)
            shmem_ctx_destroy(ctx[i]);
        shmem_barrier_all();
        for (int i = 0; i < CONTEXTS; i++)
            bad |= seen[i] != life * CONTEXTS + i;
        shmem_barrier_all();
    }
    return bad;
}

int main(int argc, char **argv)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    int me = shmem_my_pe(), bad = 0;
    const char *what = argc > 1 ? argv[1] : "";
    if (strncmp(what, "put", 3) == 0 || strcmp(what, "get") == 0 || strcmp(what, "contexts") == 0) {
        bad = *what == 'c' ? contexts(me) : transfer(what, me);
        shmem_finalize();
        return bad;
    }
    if (strncmp(what, "many_", 5) == 0 || strcmp(what, "slow") == 0) {
        bad = *what == 'm' ? many_transfers(what, me) : slow(me);
        shmem_finalize();
        return bad;
    }
    shmem_long_p(&word, 1, 1 - me); /* both PEs have exchanged a message */
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    if (argc > 1 && strcmp(argv[1], "stop") == 0) {
        if (me == 1)
            raise(SIGSTOP);
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 2);
    } else {
        bad = look();
    }
    shmem_barrier_all();
    shmem_finalize();
    return bad;
}
