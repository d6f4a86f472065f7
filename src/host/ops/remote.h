/*
 * remote.h - operations on PEs that only the network reaches. They poll until the guarantee of the routine holds: a put until
 * its source may change, a get and a fetch until the result is here, quiet until everything is complete.
 */
#ifndef SHI_OPS_REMOTE_H
#define SHI_OPS_REMOTE_H

#include "host/net/stream/stream.h"
#include "host/ops/address.h"
#include "host/ops/copy.h"

/* 1 and *out, if only the network reaches the object on PE pe of the context; 0 if loads and stores do, or for 0 bytes. Dies
 * like shi_resolve_slow if the object is not symmetric. */
int shi_is_remote(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg, const void *addr,
                  size_t bytes, int pe, struct shi_remote_addr *out);

/* The remote address of a symmetric object on a peer. 0, or -EFAULT: it is not symmetric. */
int shi_remote_addr_of(const struct shi_peer *p, enum shi_use use, const void *addr, size_t bytes,
                       struct shi_remote_addr *out);

/* SHI_NBI: return when posted; after quiet source may change, and dest is complete. SHI_MORE: a record follows. */
void shi_remote_put(struct shi_lane *l, const struct shi_remote_addr *to, const void *source, size_t bytes, int how);
void shi_remote_get(struct shi_lane *l, const struct shi_remote_addr *from, void *dest, size_t bytes, int how);
void shi_remote_put_strided(struct shi_lane *l, const struct shi_remote_addr *to, const void *source,
                            const struct shi_strided *s);
void shi_remote_get_strided(struct shi_lane *l, const struct shi_remote_addr *from, void *dest,
                            const struct shi_strided *s);

/* after_put: ordered behind this PE's earlier puts even without a fence. */
void shi_remote_update(struct shi_lane *l, const struct shi_remote_addr *at, size_t width, int op, uint64_t value,
                       int after_put);
uint64_t shi_remote_fetch(struct shi_lane *l, const struct shi_remote_addr *at, size_t width, int op, uint64_t value,
                          uint64_t cond);
void shi_remote_fetch_nbi(struct shi_lane *l, const struct shi_remote_addr *at, size_t width, int op, uint64_t value,
                          uint64_t cond, void *fetch);

/* 16 bytes, see host/net/node/amo_wide.h. */
void shi_remote_wide(struct shi_lane *l, const struct shi_remote_addr *at, const uint64_t value[2], const uint64_t cond[2],
                     uint64_t old[2]);

/* A NULL lane, of a job without a network, has nothing to wait for. */
void shi_remote_fence(struct shi_lane *l);
void shi_remote_quiet(struct shi_lane *l);
void shi_remote_quiet_pe(struct shi_lane *l, int world_pe);

/* The end of a wait that shi_stream_quiet has numbered. */
void shi_remote_quiet_wait(struct shi_lane *l, int world_pe, uint64_t *wait);

/* Sources of nbi puts may change again, dests of nbi gets are complete. */
void shi_remote_local(struct shi_lane *l);

/* Store into a PE's sync area, behind everything that the first lane has sent to that PE. more: another store follows. */
void shi_remote_sync_store(int world_pe, uint64_t off, const void *from, size_t bytes, int more);

#endif
