/* ctx.h - contexts: making and unmaking them. What operations see of one is in state.h. */
#ifndef SHI_CTX_H
#define SHI_CTX_H

#include "host/ops/state.h"

/* Make a context like `like`, of which team, peer, peers, n_pes, options and list (head of the team's contexts) are set. 0
 * and *out, or -errno. */
int shi_ctx_create(const struct shmem_ctx *like, struct shmem_ctx **out);

/* The caller has completed the operations issued on it. */
void shi_ctx_destroy(struct shmem_ctx *c);

/* The context of a handle, for routines that are not on the data path: dies on a handle that is invalid or destroyed. */
struct shmem_ctx *shi_ctx_checked(const char *routine, shmem_ctx_t handle);

/* End the job: c, which has no team, is not a context. */
_Noreturn void shi_ctx_die(const char *routine, const struct shmem_ctx *c);

/* Begin (1) or end (0) a session that batches network messages; no effect when it is so already. */
void shi_ctx_session(struct shmem_ctx *c, int batching);

#endif
