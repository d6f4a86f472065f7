/*
 * issue.c - the cost of a request for the work-item that makes it, in instructions: the device library compiled as C
 * for this processor and single-stepped. No OpenSHMEM runs; cc -std=gnu11 -O2 -Iinclude -Isrc bench/issue.c.
 *
 * The ring has free slots and no consumer. Parent and child are one program under ptrace: the child stops itself before
 * and after a call; the parent counts the steps between, minus those without a call.
 */
#define SHMEMG_HOST_ITEMS
#include <shmemg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG_N = 8, HEAP = 4096 };

static struct shi_ring_line line;
static _Alignas(64) uint64_t slots[1 << LOG_N][SHI_RING_WORDS], heap[HEAP / 8], direct_heap[HEAP / 8];
static struct shi_ring_result cells[1 << LOG_N];
static struct shi_ring ring = {.log_n = LOG_N};
static uint64_t peers[2];
static struct shi_dev_ctx ctx = {.version = SHI_DEV_VERSION, .heap_bytes = HEAP, .n_pes = 2, .stride = 1};

static void nothing(void)
{
}
static void p(void)
{
    shmemg_ctx_uint64_p(&ctx, heap + 8, 7, 1);
}
static void put48(void)
{
    shmemg_ctx_putmem_nbi(&ctx, heap + 8, heap + 16, 48, 1);
}
static void put_signal(void)
{
    shmemg_ctx_putmem_signal_nbi(&ctx, heap + 8, heap + 16, 8, heap, 1, SHMEM_SIGNAL_SET, 1);
}
static void add(void)
{
    shmemg_ctx_uint64_atomic_add(&ctx, heap + 8, 1, 1);
}
static void fence(void)
{
    shmemg_ctx_fence(&ctx);
}

/* Number of steps of a call, including the code around it. */
static long steps(void (*volatile call)(void))
{
    long n = 0;
    int status;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        call(); /* not counted: resolves symbols, touches memory */
        raise(SIGUSR1);
        call();
        raise(SIGUSR1);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGUSR1) {
        fprintf(stderr, "issue: the child cannot be traced\n");
        exit(2);
    }
    do {
        n++;
        ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
    } while (waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return n;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
        int bytes;
    } row[] = {{"p", p, 8}, {"put_nbi", put48, 48}, {"put_signal_nbi", put_signal, 8}, {"atomic_add", add, 8},
               {"fence", fence, 0}};
    static const char *const way[] = {"direct", "ring_shared", "ring_private"};
    ring.slots = (uint64_t)slots;
    ring.results = (uint64_t)cells;
    ring.line = (uint64_t)&line;
    ctx.ring = (uint64_t)&ring;
    ctx.heap = (uint64_t)heap;
    ctx.peer_heap = (uint64_t)peers;
    for (int w = 0; w < 3; w++) {
        peers[1] = w == 0 ? (uint64_t)direct_heap : 0;
        ctx.near[1] = peers[1];
        ctx.near_n = w == 0 ? 2 : 0;
        ctx.single = w == 2;
        for (unsigned i = 0; i < sizeof row / sizeof *row; i++)
            printf("{\"bench\":\"issue_%s\",\"place\":\"%s\",\"bytes\":%d,\"pes\":1,\"unit\":\"instructions\","
                   "\"median\":%ld}\n", row[i].name, way[w], row[i].bytes, steps(row[i].call) - steps(nothing));
    }
    return 0;
}
