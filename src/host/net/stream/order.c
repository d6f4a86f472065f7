/* order.c - the decisions of order.h that are not on the path of a short put. */
#include "host/net/stream/order.h"

void shi_order_flush_started(struct shi_order *o, int under_way)
{
    o->flushes++;
    o->flush_writes[o->flushes % 2] = o->writes;
    o->rma_unflushed = 0;
    if (!under_way)
        shi_order_flush_ended(o);
}

void shi_order_flush_ended(struct shi_order *o)
{
    __atomic_store_n(&o->flushes_ended, o->flushes_ended + 1, __ATOMIC_RELEASE); /* R1 */
}

static uint64_t flushes_ended(const struct shi_order *o)
{
    return __atomic_load_n(&o->flushes_ended, __ATOMIC_ACQUIRE); /* A1 */
}

void shi_order_write(struct shi_order *o, uint64_t fences, int ordered)
{
    if (o->last_write_epoch != fences)
        o->writes_fenced = o->writes;
    o->last_write_epoch = fences;
    o->writes++;
    o->writes_unconfirmed = (ordered & SHI_NET_SAW) != 0;
    o->rma_unflushed = 1;
}

int shi_order_settles(struct shi_order *o, int ordered, uint64_t follows)
{
    uint64_t ended = shi_order_writes_ended(o);
    uint64_t n = ordered & SHI_NET_SAW ? o->writes : follows > ended ? follows : ended;
    if (!o->late_write || n <= o->settled_writes)
        return 0;
    o->settled_writes = n;
    o->settle_seq = o->sent_seq;
    if (n >= o->late_write)
        o->late_write = 0;
    return 1;
}

void shi_order_read(struct shi_order *o)
{
    o->rma_unflushed = 1;
}

uint64_t shi_order_write_behind(const struct shi_order *o, uint64_t fences)
{
    return o->record_epoch != fences ? o->flush_seq : o->fence_seq;
}

int shi_order_is_complete(const struct shi_order *o)
{
    return o->acked_seq >= shi_order_complete_seq(o) && shi_order_rma_ended(o);
}

void shi_order_begin_round(const struct shi_order *o, struct shi_wait_round *r, uint64_t wait, uint64_t seq, int settle)
{
    if (r->of)
        return;
    r->of = wait;
    r->seq = seq;
    r->flush = o->flushes + o->rma_unflushed;
    r->late = settle ? o->late_write : 0;
}

/* The write r->late has ended: an earlier message has settled it, or the open one will. */
static void settle(const struct shi_order *o, struct shi_wait_round *r)
{
    int is_settled = o->settled_writes >= r->late;
    uint64_t seq = is_settled ? o->settle_seq : o->sent_seq + 1;
    r->seq = seq > r->seq ? seq : r->seq;
    r->late = is_settled ? 0 : r->late;
}

int shi_order_round_ended(const struct shi_order *o, struct shi_wait_round *r)
{
    if (flushes_ended(o) < r->flush)
        return 0;
    if (r->late)
        settle(o, r);
    if (r->late || o->acked_seq < r->seq)
        return 0;
    r->served = r->of;
    r->of = 0;
    return 1;
}

int shi_acks_queue(struct shi_acks *a, int lane, uint32_t flags, uint64_t poll)
{
    int first = !a->queued_at;
    a->queued_at = poll;
    a->now |= (flags & ACK_NOW) != 0;
    __atomic_fetch_or(&a->queued, 1U << lane, __ATOMIC_RELEASE); /* R3 */
    return first;
}

int shi_acks_due(struct shi_acks *a, uint64_t poll, uint32_t *lanes)
{
    *lanes = __atomic_load_n(&a->queued, __ATOMIC_RELAXED);
    if (*lanes && !a->now && a->queued_at + 1 >= poll)
        return 0;
    a->queued_at = a->now = 0;
    return 1;
}
