/*
 * ofi_refused.h - operations that libfabric refuses for want of room (-FI_EAGAIN): those that it never accepts are found.
 *
 * A lane keeps one refused operation until the same one is accepted: another that is always refused takes its place then. Callers
 * repeat a refused operation at each poll, or forget it, which a check notices. The caller holds the lane's lock.
 */
#ifndef SHI_OFI_REFUSED_H
#define SHI_OFI_REFUSED_H

#include "host/net/fabric/net.h"
#include "host/util/base.h"

struct shi_ofi_refused {
    struct shi_net_overdue op;
    unsigned checks;    /* in a row, before each of which it was refused */
    unsigned char kept; /* op is one */
    unsigned char anew; /* it was refused since the last check */
};

static inline int shi_ofi_refused_is(const struct shi_ofi_refused *r, enum shi_net_what what, int pe, size_t bytes)
{
    return r->kept && r->op.what == what && r->op.pe == pe && r->op.bytes == bytes;
}

static inline void shi_ofi_refuse(struct shi_ofi_refused *r, enum shi_net_what what, int pe, size_t bytes)
{
    if (!r->kept)
        *r = (struct shi_ofi_refused){.op = {what, pe, bytes}, .kept = 1};
    if (shi_ofi_refused_is(r, what, pe, bytes))
        r->anew = 1;
}

static inline void shi_ofi_accept(struct shi_ofi_refused *r, enum shi_net_what what, int pe, size_t bytes)
{
    if (shi_unlikely(r->kept) && shi_ofi_refused_is(r, what, pe, bytes))
        r->kept = 0;
}

/* A check: has it been refused before each of the last `checks`? */
static inline int shi_ofi_refused_check(struct shi_ofi_refused *r, unsigned checks)
{
    r->kept &= r->anew;
    r->anew = 0;
    return r->kept && ++r->checks >= checks;
}

#endif
