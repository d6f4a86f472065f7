/*
 * far.h - operations on PEs that only the network reaches. They poll until the guarantee of the routine holds: a put until
 * its source may change, a get and a fetch until the result is here, quiet until everything is complete.
 */
#ifndef SHI_FAR_H
#define SHI_FAR_H

#include "host/net/stream.h"
#include "host/ops/address.h"
#include "host/ops/copy.h"

/* 1 and *out, if only the network reaches the object on PE pe of the context; 0 if loads and stores do, or for 0 bytes. Dies
 * like shi_miss if the object is not symmetric. */
int shi_far(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg, const void *addr,
            size_t bytes, int pe, struct shi_spot *out);

/* The remote address of a symmetric object on a peer. 0, or -EFAULT: it is not symmetric. */
int shi_far_spot(const struct shi_peer *p, enum shi_use use, const void *addr, size_t bytes, struct shi_spot *out);

/* SHI_NBI: return when posted; after quiet source may change, and dest is complete. SHI_MORE: a record follows. */
void shi_far_put(struct shi_lane *l, const struct shi_spot *to, const void *source, size_t bytes, int how);
void shi_far_get(struct shi_lane *l, const struct shi_spot *from, void *dest, size_t bytes, int how);
void shi_far_put_strided(struct shi_lane *l, const struct shi_spot *to, const void *source, const struct shi_strided *s);
void shi_far_get_strided(struct shi_lane *l, const struct shi_spot *from, void *dest, const struct shi_strided *s);

/* after_put: ordered behind this PE's earlier puts even without a fence. */
void shi_far_update(struct shi_lane *l, const struct shi_spot *at, size_t width, int op, uint64_t value, int after_put);
uint64_t shi_far_fetch(struct shi_lane *l, const struct shi_spot *at, size_t width, int op, uint64_t value, uint64_t cond);
void shi_far_fetch_nbi(struct shi_lane *l, const struct shi_spot *at, size_t width, int op, uint64_t value,
                       uint64_t cond, void *fetch);

/* A NULL lane, of a job without a network, has nothing to wait for. */
void shi_far_fence(struct shi_lane *l);
void shi_far_quiet(struct shi_lane *l);
void shi_far_quiet_pe(struct shi_lane *l, int world_pe);

/* Sources of nbi puts may change again, dests of nbi gets are complete. */
void shi_far_local(struct shi_lane *l);

/* Store into a PE's sync area, behind everything that the first lane has sent to that PE. */
void shi_far_sync_store(int world_pe, uint64_t off, const void *from, size_t bytes);

#endif
