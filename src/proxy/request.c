/*
 * request.c - check one request and carry it out: here on memory that the host can load and store, by staged.c on memory
 * that only a device can access, by remote.c on PEs that only the network reaches; GPCs by call.c, tagged messages by
 * send.c and receive.c. device/lib/request.h defines the arguments.
 */
#include "proxy/request.h"

#include <errno.h>
#include <string.h>

#include "device/lib/request.h"
#include "host/net/amo_word.h"
#include "host/ops/address.h"
#include "host/ops/span.h"
#include "host/util/log.h"
#include "proxy/call.h"
#include "proxy/receive.h"
#include "proxy/remote.h"
#include "proxy/send.h"
#include "proxy/staged.h"

static void *target_of(uint32_t pe, uint64_t off, size_t bytes)
{
    const struct shi_peer *p = &shi_world.peer[pe];
    const char *at = (const char *)shi_world.dev_lo + off;
    return shi_world.dev_private ? shi_reach_device(p, at, bytes) : shi_reach(p, at, bytes);
}

static int do_amo(const struct shi_proxy_ring *p, uint64_t ticket, const struct shi_request_view *v, void *at)
{
    if (v->result == SHI_RESULT_SLOT && !shi_result_free(p, ticket))
        return -EAGAIN;
    uint64_t old = shi_amo_word(at, v->bytes, v->amo, v->value, v->cond);
    if (v->result == SHI_RESULT_SLOT)
        shi_result_publish(p, ticket, old);
    else if (v->result == SHI_RESULT_ADDRESS)
        memcpy((void *)v->local, &old, v->bytes); /* little-endian: the low bytes */
    return 0;
}

static int do_get_inline(const struct shi_proxy_ring *p, uint64_t ticket, const void *at, size_t bytes)
{
    uint64_t value = 0;
    if (!shi_result_free(p, ticket))
        return -EAGAIN;
    memcpy(&value, at, bytes);
    shi_result_publish(p, ticket, value);
    return 0;
}

static int do_signal(const struct shi_request_view *v, uint64_t *at)
{
    if (v->sig_op == SHMEM_SIGNAL_SET)
        __atomic_store_n(at, v->signal_value, __ATOMIC_RELEASE);
    else
        __atomic_fetch_add(at, v->signal_value, __ATOMIC_ACQ_REL);
    return 0;
}

static int perform(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v)
{
    const struct shi_request *q = &op->request;
    int signals = q->op == SHI_OP_PUT_SIGNAL || q->op == SHI_OP_PUT_SIGNAL_INLINE;
    if (q->op == SHI_OP_GPC || q->op == SHI_OP_GPC_CHAINED)
        return shi_proxy_call(p, op, v);
    if (q->op == SHI_OP_TAG || q->op == SHI_OP_TAG_INLINE)
        return shi_proxy_send(p, op, v);
    if (q->op == SHI_OP_TAG_RECV)
        return shi_proxy_receive(p, op->ticket, v);
    if (q->op == SHI_OP_TAG_TEST)
        return shi_proxy_receive_test(p, op->ticket, v);
    if (q->op == SHI_OP_TAG_PROBE)
        return shi_proxy_probe(p, op, v);
    if ((signals && (v->signal % sizeof(uint64_t) || (v->sig_op != SHMEM_SIGNAL_SET && v->sig_op != SHMEM_SIGNAL_ADD))) ||
        (q->op == SHI_OP_AMO && v->target % v->bytes))
        return -EINVAL;
    if (shi_world.peer[q->pe].remote)
        return shi_remote_issue(p, op, v);
    void *at = v->bytes ? target_of(q->pe, v->target, v->bytes) : NULL;
    uint64_t *signal = signals ? target_of(q->pe, v->signal, sizeof *signal) : NULL;
    if ((v->bytes && !at) || (signals && !signal))
        return -EFAULT;
    if (shi_world.dev_private)
        return shi_staged_issue(p, op, v, at, signal);
    switch (q->op) {
    case SHI_OP_AMO: return do_amo(p, op->ticket, v, at);
    case SHI_OP_GET_INLINE: return do_get_inline(p, op->ticket, at, v->bytes);
    case SHI_OP_GET: memcpy((void *)v->local, at, v->bytes); return 0;
    }
    if (v->bytes)
        memcpy(at, v->payload ? v->payload : (const void *)v->local, v->bytes);
    return signals ? do_signal(v, signal) : 0;
}

static enum shi_family family_of(uint32_t op)
{
    return op == SHI_OP_AMO ? SHI_ATOMICS : op == SHI_OP_GET || op == SHI_OP_GET_INLINE ? SHI_GETS : SHI_PUTS;
}

int shi_proxy_issue(void *ring, struct shi_engine_op *op)
{
    static const char *const name[] = {[SHI_PUTS] = "kernel_put", [SHI_GETS] = "kernel_get", [SHI_ATOMICS] = "kernel_atomic"};
    struct shi_request_view v;
    enum shi_family family = family_of(op->request.op);
    SHI_SPAN(span, family, name[family], NULL, (int)op->request.pe, 0);
    int err = shi_request_view(&op->request, &v) || op->request.pe >= (uint32_t)shi_world.n_pes ? -EINVAL
                                                                                                : perform(ring, op, &v);
    span.way = SHI_BY_RING;
    span.bytes = v.bytes;
    if ((err && err != -EINPROGRESS) || op->request.op >= SHI_OP_TAG_RECV)
        span.began_ns = 0;
    if (err && err != -EAGAIN && err != -EINPROGRESS)
        shi_log_error("invalid request of a kernel: operation %u on PE %u, offset %#lx: %s", op->request.op,
                      op->request.pe, (unsigned long)(op->request.arg[0] & ((1ull << 56) - 1)), strerror(-err));
    return err;
}
