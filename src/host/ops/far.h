/*
 * far.h - operations on PEs that loads and stores cannot reach. They wait, by polling, for what the routine they serve
 * promises: a put for its source, a get and a fetch for their result, quiet for everything.
 */
#ifndef SHI_FAR_H
#define SHI_FAR_H

#include "host/net/stream.h"
#include "host/ops/address.h"
#include "host/ops/copy.h"

/* Does only the network reach the object on PE pe of the context? Then *out is where it lies there; dies like shi_miss on
 * what is not symmetric. Zero bytes are nowhere. */
int shi_far(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg, const void *addr,
            size_t bytes, int pe, struct shi_spot *out);

/* Where a symmetric address lies on a peer; 0, or -EFAULT: it is not symmetric. */
int shi_far_spot(const struct shi_peer *p, enum shi_use use, const void *addr, size_t bytes, struct shi_spot *out);

/* SHI_NBI: return at once; quiet tells when source may change, or dest is complete. SHI_MORE: a record follows. */
void shi_far_put(struct shi_lane *l, const struct shi_spot *to, const void *source, size_t bytes, int how);
void shi_far_get(struct shi_lane *l, const struct shi_spot *from, void *dest, size_t bytes, int how);
void shi_far_put_strided(struct shi_lane *l, const struct shi_spot *to, const void *source, const struct shi_strided *s);
void shi_far_get_strided(struct shi_lane *l, const struct shi_spot *from, void *dest, const struct shi_strided *s);

/* after_put: behind the data of this PE's last put, fence or not. */
void shi_far_update(struct shi_lane *l, const struct shi_spot *at, size_t width, int op, uint64_t value, int after_put);
uint64_t shi_far_fetch(struct shi_lane *l, const struct shi_spot *at, size_t width, int op, uint64_t value, uint64_t cond);
void shi_far_fetch_nbi(struct shi_lane *l, const struct shi_spot *at, size_t width, int op, uint64_t value,
                       uint64_t cond, void *fetch);

/* NULL lanes, of jobs without a network, have nothing to do. */
void shi_far_fence(struct shi_lane *l);
void shi_far_quiet(struct shi_lane *l);
void shi_far_quiet_pe(struct shi_lane *l, int world_pe);

/* Sources of nbi puts may change again, dests of nbi gets are complete. */
void shi_far_local(struct shi_lane *l);

/* A PE's sync area: stored behind everything that the first lane sent that PE. */
void shi_far_sync_store(int world_pe, uint64_t off, const void *from, size_t bytes);

#endif
