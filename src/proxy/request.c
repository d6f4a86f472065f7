/*
 * request.c - check one request and carry it out: here on memory that the host can load and store, by staged.c on memory
 * that only a device can access, by remote.c on PEs that only the network reaches; GPCs by call.c, tagged messages by
 * message.c. device/lib/request.h defines the arguments.
 */
#include "proxy/request.h"

#include <errno.h>
#include <string.h>

#include "device/lib/request.h"
#include "host/net/node/amo_word.h"
#include "host/ops/address.h"
#include "host/ops/copy.h"
#include "host/ops/span.h"
#include "host/util/log.h"
#include "proxy/call.h"
#include "proxy/late.h"
#include "proxy/message.h"
#include "proxy/remote.h"
#include "proxy/staged.h"

/* ---- names, and SHMEM_CHECK=1 ------------------------------------------------------------------------------------ */

static const struct {
    const char *name; /* for SHMEM_STATS, SHMEM_TRACE and errors; NULL: not counted */
    enum shi_family family;
} kinds[] = {
    [SHI_OP_PUT] = {"kernel_put", SHI_PUTS},
    [SHI_OP_PUT_INLINE] = {"kernel_put", SHI_PUTS},
    [SHI_OP_PUT_SIGNAL] = {"kernel_put_signal", SHI_SIGNALS},
    [SHI_OP_PUT_SIGNAL_INLINE] = {"kernel_put_signal", SHI_SIGNALS},
    [SHI_OP_GET] = {"kernel_get", SHI_GETS},
    [SHI_OP_GET_INLINE] = {"kernel_get", SHI_GETS},
    [SHI_OP_AMO] = {"kernel_atomic", SHI_ATOMICS},
    [SHI_OP_GPC] = {"kernel_gpc", SHI_PUTS},
    [SHI_OP_GPC_CHAINED] = {"kernel_gpc", SHI_PUTS},
    [SHI_OP_TAG] = {"kernel_tag_send", SHI_PUTS},
    [SHI_OP_TAG_INLINE] = {"kernel_tag_send", SHI_PUTS},
};

static const char *name_of(const struct shi_request *q)
{
    return q->op < sizeof kinds / sizeof *kinds ? kinds[q->op].name : NULL;
}

/* The ranges in device heaps and the signal are inside blocks; the caller refuses those that are outside the heap. */
static void check_blocks(const struct shi_request *q, const struct shi_request_view *v)
{
    const char *heap = (const char *)shi_world.dev_lo, *name = name_of(q);
    int get = q->op == SHI_OP_GET || q->op == SHI_OP_GET_INLINE;
    if (!name || q->op == SHI_OP_GPC || q->op == SHI_OP_GPC_CHAINED || q->op == SHI_OP_TAG || q->op == SHI_OP_TAG_INLINE)
        return;
    shi_check_block(name, get ? "source" : "dest", heap + v->target, v->bytes, (int)q->pe);
    if (v->local && q->op != SHI_OP_AMO)
        shi_check_block(name, get ? "dest" : "source", (const void *)v->local, v->bytes, (int)q->pe);
    if (v->sig_op)
        shi_check_block(name, "sig_addr", heap + v->signal, sizeof v->signal_value, (int)q->pe);
}

/* ---- carry out --------------------------------------------------------------------------------------------------- */

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

static int do_clock(const struct shi_request_view *v)
{
    uint64_t now = shi_now_ns();
    if (v->local)
        memcpy((void *)v->local, &now, sizeof now);
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
    if (q->op == SHI_OP_CLOCK)
        return do_clock(v);
    if ((signals && (v->signal % sizeof(uint64_t) || (v->sig_op != SHMEM_SIGNAL_SET && v->sig_op != SHMEM_SIGNAL_ADD))) ||
        (q->op == SHI_OP_AMO && v->target % v->bytes))
        return -EINVAL;
    if (shi_unlikely(shi_world.check))
        check_blocks(q, v);
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
    case SHI_OP_GET: shi_copy((void *)v->local, at, v->bytes); return 0;
    }
    if (v->bytes)
        shi_copy(at, v->payload ? v->payload : (const void *)v->local, v->bytes);
    return signals ? do_signal(v, signal) : 0;
}

static int decode_and_perform(void *ring, struct shi_engine_op *op)
{
    struct shi_request_view v;
    int err = shi_request_view(&op->request, &v) || op->request.pe >= (uint32_t)shi_world.n_pes ? -EINVAL
                                                                                                : perform(ring, op, &v);
    if (err && err != -EAGAIN && err != -EINPROGRESS)
        shi_log_error("invalid request of a kernel: operation %u on PE %u, offset %#lx: %s", op->request.op,
                      op->request.pe, (unsigned long)(op->request.arg[0] & ((1ull << 56) - 1)), strerror(-err));
    return err;
}

int shi_proxy_issue(void *ring, struct shi_engine_op *op)
{
    if (shi_unlikely(shi_world.watched) && !op->since_ns)
        op->since_ns = shi_now_ns();
    if (shi_unlikely(shi_world.check) && shi_late_hold(ring, op, decode_and_perform))
        return -EINPROGRESS;
    return decode_and_perform(ring, op);
}

/* ---- SHMEM_STATS and SHMEM_TRACE ---------------------------------------------------------------------------------- */

static void describe(struct shi_span *s, const struct shi_request *q, const struct shi_request_view *v)
{
    const char *heap = (const char *)shi_world.dev_lo;
    if (q->op == SHI_OP_AMO && v->amo != SHI_AMO_FETCH) {
        s->word = heap + v->target;
        s->word_bytes = v->bytes;
        s->value = v->value;
        s->has_value = v->amo == SHI_AMO_SET;
    } else if (q->op <= SHI_OP_PUT_SIGNAL_INLINE) {
        s->at = heap + v->target;
        s->extent = v->bytes;
    }
    if (q->op == SHI_OP_PUT_INLINE && v->bytes <= sizeof s->value && !(v->bytes & (v->bytes - 1))) {
        s->word = s->at;
        s->word_bytes = v->bytes;
        s->has_value = 1;
        memcpy(&s->value, v->payload, v->bytes);
    }
    if (s->family == SHI_SIGNALS) {
        s->bytes += sizeof v->signal_value;
        s->word = heap + v->signal;
        s->word_bytes = sizeof v->signal_value;
        s->value = v->signal_value;
        s->has_value = v->sig_op == SHMEM_SIGNAL_SET;
    }
}

void shi_proxy_ended(void *ring, const struct shi_engine_op *op)
{
    struct shi_request_view v;
    (void)ring;
    if (!shi_world.watched || !op->since_ns || !name_of(&op->request) ||
        shi_request_view(&op->request, &v) || op->request.pe >= (uint32_t)shi_world.n_pes)
        return;
    SHI_SPAN(span, kinds[op->request.op].family, name_of(&op->request), NULL, (int)op->request.pe, v.bytes);
    span.began_ns = op->since_ns;
    span.track = SHI_TRACE_REQUESTS;
    span.way = SHI_BY_RING;
    describe(&span, &op->request, &v);
}
