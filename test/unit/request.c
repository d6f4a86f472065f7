/*
 * request.c - requests of kernels on mapped memory (proxy/request.c), and invalid requests, which must be refused. The
 * device library refuses most of them itself, so this test calls the proxy's code without a kernel.
 */
#include "proxy/request.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../tap.h"
#include "host/ops/address.h"
#include "host/ops/span.h"
#include "host/policy/limits.h"
#include "proxy/call.h"
#include "proxy/message.h"
#include "proxy/ongoing.h"
#include "proxy/remote.h"
#include "proxy/staged.h"

/* ---- stubs of the library --------------------------------------------------------------------------------------------- */

enum { WORDS = 8, BYTES = WORDS * 8, LOG_N = 2 };
static uint64_t heap[2][WORDS]; /* the device heaps of PE 0 (this PE) and PE 1 */
static struct shi_peer peer[3]; /* PE 2 is remote */
struct shi_world shi_world;
static int staged, remote, remote_err;

int shi_staged_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v, char *at,
                     uint64_t *signal)
{
    (void)p, (void)op, (void)v, (void)at, (void)signal;
    staged++;
    return 0;
}

int shi_remote_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    (void)p, (void)op, (void)v;
    remote++;
    return remote_err;
}

int shi_proxy_call(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    (void)p, (void)op, (void)v;
    return 0;
}

int shi_proxy_send(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    (void)p, (void)op, (void)v;
    return 0;
}

int shi_proxy_receive(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v)
{
    (void)p, (void)ticket, (void)v;
    return 0;
}

int shi_proxy_receive_test(struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v)
{
    (void)p, (void)ticket, (void)v;
    return 0;
}

int shi_proxy_probe(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    (void)p, (void)op, (void)v;
    return 0;
}

void shi_span_begin(struct shi_span *s, enum shi_family family, const char *routine, const struct shmem_team *team, int pe,
                    size_t bytes)
{
    (void)s, (void)family, (void)routine, (void)team, (void)pe, (void)bytes;
}

void shi_span_count(const struct shi_span *s)
{
    (void)s;
}

void shi_log_error(const char *format, ...) /* refusals are expected */
{
    (void)format;
}

static struct {
    const char *routine, *arg;
    const void *addr;
    size_t bytes;
} checked[4];
static int n_checked;

void shi_check_block_slow(const char *routine, const char *arg, const void *addr, size_t bytes, int pe)
{
    (void)pe;
    checked[n_checked % 4].routine = routine;
    checked[n_checked % 4].arg = arg;
    checked[n_checked % 4].addr = addr;
    checked[n_checked++ % 4].bytes = bytes;
}

static uint64_t ongoing[8]; /* the only request that goes on */

void *shi_proxy_ongoing_get(const struct shi_proxy_ongoing *o)
{
    memcpy(ongoing, o, sizeof *o);
    return ongoing;
}

void shi_proxy_ongoing_add(struct shi_proxy_ring *p, struct shi_proxy_ongoing *o)
{
    p->ongoing = o;
}

void shi_engine_complete(struct shi_engine *e, struct shi_engine_op *op, int err)
{
    (void)e, (void)op, (void)err;
}

/* ---- a ring's results ------------------------------------------------------------------------------------------------- */

static struct shi_ring_result results[1 << LOG_N];
static struct shi_ring ring;
static struct shi_proxy_ring served = {.ring = &ring};
static struct shi_engine_op op;

static void begin(int pe)
{
    memset(heap, 0, sizeof heap);
    memset(results, 0, sizeof results);
    ring = (struct shi_ring){.results = (uintptr_t)results, .log_n = LOG_N};
    for (int i = 0; i < 3; i++)
        peer[i] = (struct shi_peer){.pe = i, .remote = i == 2, .dev_bytes = BYTES,
                                    .dev_delta = i == 1 ? (char *)heap[1] - (char *)heap[0] : 0};
    shi_world = (struct shi_world){.n_pes = 3, .peer = peer, .dev_lo = (uintptr_t)heap[0], .dev_bytes = BYTES};
    op = (struct shi_engine_op){.ticket = 5, .request.pe = (uint32_t)pe};
    staged = remote = n_checked = 0;
}

static int issue(void)
{
    return shi_proxy_issue(&served, &op);
}

static int amo(int what, uint64_t target, uint64_t bytes, uint64_t value, void *fetch, int result)
{
    shi_request_amo(&op.request, what, target, bytes, value, 0, (uintptr_t)fetch, result);
    return issue();
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

/* Catches: an update made twice, because it was made before its result had a free slot and is then retried; a result
 * written over one that was not read. */
static void slots_in_use(void)
{
    begin(1);
    results[5 % 4] = (struct shi_ring_result){.value = 77, .tag = 2};
    heap[1][2] = 40;
    CHECK(amo(SHI_AMO_ADD, 16, 8, 2, NULL, SHI_RESULT_SLOT) == -EAGAIN);
    CHECKF(heap[1][2] == 40, "the word is %lu", (unsigned long)heap[1][2]);
    shi_request_get_inline(&op.request, 16, 8);
    CHECK(issue() == -EAGAIN);
    CHECK(results[1].value == 77 && results[1].tag == 2);
    results[1].tag = 0;
    CHECK(issue() == 0 && results[1].value == 40 && results[1].tag == 6);
    results[1].tag = 0;
    CHECK(amo(SHI_AMO_ADD, 16, 8, 2, NULL, SHI_RESULT_SLOT) == 0);
    CHECK(heap[1][2] == 42 && results[1].value == 40 && results[1].tag == 6);
    results[1].tag = 3; /* no result, so the result slot does not count */
    CHECK(amo(SHI_AMO_ADD, 16, 8, 1, NULL, SHI_RESULT_NONE) == 0 && heap[1][2] == 43 && results[1].tag == 3);
}

/* Catches: a result of 4 bytes that overwrites the bytes after it. */
static void result_at_address(void)
{
    uint32_t result[2] = {1, 2};
    begin(1);
    heap[1][1] = 9;
    CHECK(amo(SHI_AMO_SWAP, 8, 4, 3, result, SHI_RESULT_ADDRESS) == 0);
    CHECK(result[0] == 9 && result[1] == 2 && heap[1][1] == 3);
}

static int signal_to(uint64_t target, uint64_t bytes, uint64_t signal, int sig_op)
{
    op.request.arg[0] = 0x1122334455667788;
    shi_request_put_signal_inline(&op.request, target, bytes, signal, 5, sig_op);
    return issue();
}

/* Catches: set taken for add; a signal without its data. */
static void signals(void)
{
    begin(1);
    heap[1][0] = 10;
    CHECK(signal_to(8, 8, 0, SHMEM_SIGNAL_ADD) == 0);
    CHECK(heap[1][0] == 15 && heap[1][1] == 0x1122334455667788);
    CHECK(signal_to(16, 3, 0, SHMEM_SIGNAL_SET) == 0);
    CHECK(heap[1][0] == 5 && heap[1][2] == 0x667788);
    CHECK(heap[0][0] == 0);
}

/* Catches: memory outside the heap written, a torn word, an unknown operation carried out. A refused request must
 * change nothing. */
static void refused(void)
{
    static const uint64_t zero[WORDS];
    begin(1);
    CHECK(signal_to(8, 8, 12, SHMEM_SIGNAL_SET) == -EINVAL);
    CHECK(signal_to(8, 8, 16, 7) == -EINVAL);
    CHECK(signal_to(8, 8, BYTES, SHMEM_SIGNAL_SET) == -EFAULT);
    CHECK(signal_to(BYTES - 7, 8, 0, SHMEM_SIGNAL_SET) == -EFAULT);
    CHECK(amo(SHI_AMO_ADD, 4, 8, 1, NULL, SHI_RESULT_NONE) == -EINVAL);
    CHECK(amo(SHI_AMO_ADD, 2, 4, 1, NULL, SHI_RESULT_NONE) == -EINVAL);
    CHECK(amo(SHI_AMO_ADD, BYTES, 8, 1, NULL, SHI_RESULT_NONE) == -EFAULT);
    CHECK(amo(SHI_AMOS, 8, 8, 1, NULL, SHI_RESULT_NONE) == -EINVAL);
    CHECK(amo(SHI_AMO_ADD, 8, 2, 1, NULL, SHI_RESULT_NONE) == -EINVAL);
    op.request.pe = 3;
    CHECK(amo(SHI_AMO_ADD, 8, 8, 1, NULL, SHI_RESULT_NONE) == -EINVAL);
    CHECK(memcmp(heap[1], zero, sizeof zero) == 0);
}

/* Catches: a time that goes nowhere, or is the wrong clock's; a request without an address that writes. */
static void clock_of_host(void)
{
    uint64_t at[2] = {1, 2}, before = shi_now_ns();
    begin(0);
    shi_request_clock(&op.request, (uintptr_t)at);
    CHECK(issue() == 0 && at[0] >= before && at[0] <= shi_now_ns() && at[1] == 2);
    shi_request_clock(&op.request, 0);
    CHECK(issue() == 0);
}

/* Catches: a bounds check that is missing for private memory; a request that the host carries out on memory that it
 * cannot access, or on this node for a remote PE. */
static void elsewhere(void)
{
    begin(1);
    shi_world.dev_private = 1;
    CHECK(amo(SHI_AMO_ADD, 8, 8, 1, NULL, SHI_RESULT_NONE) == 0 && staged == 1);
    CHECK(amo(SHI_AMO_ADD, BYTES, 8, 1, NULL, SHI_RESULT_NONE) == -EFAULT && staged == 1);
    CHECK(signal_to(BYTES - 7, 8, 0, SHMEM_SIGNAL_SET) == -EFAULT && staged == 1);
    CHECK(heap[1][1] == 0);
    begin(2);
    CHECK(amo(SHI_AMO_ADD, 8, 8, 1, NULL, SHI_RESULT_NONE) == 0 && remote == 1);
}

/* Catches: an operation that is never late, or for ever; one that is late twice, so that a quiet lasts; an update that is late, for
 * whose result a kernel waits. */
static void late(void)
{
    struct shi_engine_op second;
    begin(1);
    served.ongoing = NULL;
    shi_world.check = 1;
    op.request.arg[0] = 7;
    shi_request_put_inline(&op.request, 8, 8);
    uint64_t from = shi_now_ns();
    CHECK(issue() == -EINPROGRESS && served.ongoing && heap[1][1] == 0);
    second = op;
    second.request.arg[0] = 8;
    shi_request_put_inline(&second.request, 16, 8);
    CHECK(shi_proxy_issue(&served, &second) == 0 && heap[1][2] == 8 && heap[1][1] == 0);
    while (!served.ongoing->advance(&served, served.ongoing))
        ;
    CHECK(shi_now_ns() - from >= SHI_LATE_NS && heap[1][1] == 7 && served.ongoing->op == &op);
    served.ongoing = NULL;
    CHECK(amo(SHI_AMO_ADD, 16, 8, 2, NULL, SHI_RESULT_NONE) == 0 && heap[1][2] == 10);
    shi_world.check = 0;
    shi_request_put_inline(&op.request, 8, 8);
    CHECK(issue() == 0 && !served.ongoing);
    begin(2);
    shi_world.check = 1;
    shi_request_put_inline(&op.request, 8, 8);
    CHECK(issue() == -EINPROGRESS);
    while (!served.ongoing->advance(&served, served.ongoing))
        ;
    CHECK(remote == 1 && served.ongoing->op == &op);
    remote_err = -EINPROGRESS; /* remote.c completes it */
    served.ongoing = NULL;
    CHECK(issue() == -EINPROGRESS);
    while (!served.ongoing->advance(&served, served.ongoing))
        ;
    CHECK(remote == 2 && !served.ongoing->op);
    served.ongoing = NULL;
    remote_err = 0;
}

static void blocks_are(const char *routine, const char *first, const void *at, size_t bytes, const char *then, const void *also)
{
    CHECK(n_checked == 1 + (then != NULL) && !strcmp(checked[0].routine, routine) && !strcmp(checked[0].arg, first) &&
          checked[0].addr == at && checked[0].bytes == bytes);
    CHECK(!then || (!strcmp(checked[1].arg, then) && checked[1].addr == also));
    n_checked = 0;
}

/* Catches: a range that is not checked, or another one; the address of another PE, which the program does not know. */
static void blocks(void)
{
    uint64_t data[2] = {1, 2};
    begin(1);
    shi_world.check = 1;
    served.ongoing = (struct shi_proxy_ongoing *)ongoing;
    memset(ongoing, 0, sizeof ongoing);
    CHECK(signal_to(8, 8, 32, SHMEM_SIGNAL_ADD) == 0);
    blocks_are("kernel_put_signal", "dest", &heap[0][1], 8, "sig_addr", &heap[0][4]);
    CHECK(amo(SHI_AMO_ADD, 16, 4, 2, data, SHI_RESULT_ADDRESS) == 0);
    blocks_are("kernel_atomic", "dest", &heap[0][2], 4, NULL, NULL);
    results[1].tag = 0;
    shi_request_get_inline(&op.request, 24, 2);
    CHECK(issue() == 0);
    blocks_are("kernel_get", "source", &heap[0][3], 2, NULL, NULL);
    shi_request_put_signal(&op.request, 0, (uintptr_t)data, 16, 56, 1, SHMEM_SIGNAL_SET);
    CHECK(issue() == 0);
    CHECK(n_checked == 3 && !strcmp(checked[1].arg, "source") && checked[1].addr == data && checked[2].addr == &heap[0][7]);
    n_checked = 0;
    shi_request_clock(&op.request, 0);
    CHECK(issue() == 0 && n_checked == 0);
    served.ongoing = NULL;
}

int main(void)
{
    RUN(slots_in_use, "a result waits for its result slot");
    RUN(result_at_address, "a result goes to an address");
    RUN(signals, "data with signals");
    RUN(refused, "wrong requests are refused and change nothing");
    RUN(clock_of_host, "the host's time for kernels");
    RUN(elsewhere, "private memory and remote PEs");
    RUN(late, "SHMEM_CHECK=1: one request to a PE is late");
    RUN(blocks, "SHMEM_CHECK=1: ranges are compared with blocks");
    return tap_end();
}
