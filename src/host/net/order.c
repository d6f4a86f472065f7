/* order.c - the decisions of order.h that are not on the path of a short put. */
#include "host/net/order.h"

void shi_order_flush_started(struct shi_order *o, int under_way)
{
    o->flushing = (uint8_t)under_way;
    o->rma_unflushed = 0;
}

void shi_order_flush_ended(struct shi_order *o)
{
    __atomic_store_n(&o->flushing, 0, __ATOMIC_RELEASE); /* R1 */
}

void shi_order_write(struct shi_order *o, uint64_t fences, int ordered)
{
    if (shi_order_rma_ended(o))
        o->write_epoch = fences;
    shi_order_follow_late(o); /* from now on it would not know that the writes so far have ended */
    if (o->last_write_epoch != fences)
        o->writes_fenced = o->writes;
    o->last_write_epoch = fences;
    o->writes++;
    o->writes_unconfirmed = (ordered & SHI_NET_SAW) != 0;
    o->rma_unflushed = 1;
}

int shi_order_settles(struct shi_order *o, int ordered, uint64_t follows)
{
    uint64_t n = ordered & SHI_NET_SAW ? o->writes : follows > o->placed_writes ? follows : o->placed_writes;
    if (!o->late_write || !n)
        return 0;
    o->placed_writes = 0;
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

int shi_order_write_may_go(const struct shi_order *o, uint64_t fences, int ordered)
{
    return ordered & SHI_NET_WAW || o->write_epoch == fences || shi_order_rma_ended(o);
}

int shi_order_is_complete(const struct shi_order *o)
{
    return o->acked_seq >= shi_order_complete_seq(o) && shi_order_rma_ended(o);
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
