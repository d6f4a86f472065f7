/* ctx.h - contexts: making and unmaking them. What operations see of one is in state.h. */
#ifndef SHI_CTX_H
#define SHI_CTX_H

#include "host/coll/team.h"

/* A new context of the team. 0 and *out, or -errno. Pair: shi_ctx_destroy, or the team's end for shareable ones. */
int shi_ctx_create(struct shmem_team *t, long options, struct shmem_ctx **out);
void shi_ctx_destroy(struct shmem_ctx *c);

/* The context behind a handle, for routines that are not on the data path: dies on what is no context, or no more. */
struct shmem_ctx *shi_ctx_checked(const char *routine, shmem_ctx_t handle);

/* Begin (1) or end (0) a session that batches what goes over the network; what is so already stays. */
void shi_ctx_session(struct shmem_ctx *c, int batching);

#endif
