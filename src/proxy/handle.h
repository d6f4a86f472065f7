/*
 * handle.h - contexts and teams for kernels, in memory that host and device share. The structures are those of
 * device/lib/state.h; the program passes the pointers to kernels unchanged.
 */
#ifndef SHI_PROXY_HANDLE_H
#define SHI_PROXY_HANDLE_H

#include <stdint.h>

#include "host/coll/team.h"

struct shi_dev_ctx;

/* Create the default context and the predefined teams, once; the device heap must be up. Everything in this file goes down
 * with the device. 0 or -errno after one line. */
int shi_handle_up(void);

/* The default context: where kernels find it, and its contents, which each module has a copy of. */
void *shi_handle_ctx(void);
const struct shi_dev_ctx *shi_handle_default(void);

/* The i-th symmetric memory beside the heap (ops/added.h), which is the device's, has been added or is about to be removed. 0, or -errno
 * after one line. */
int shi_handle_added(int i);
void shi_handle_removed(int i);

/* A context of the team with a ring of its own. options: SHMEM_CTX_. 0 and *out, or -errno after one line. Pair:
 * shi_handle_ctx_destroy, which completes its requests; no kernel may use the context any more. */
int shi_handle_ctx_create(const struct shmem_team *t, long options, void **out);
void shi_handle_ctx_destroy(void *ctx);

/* The team as kernels use it; the same pointer for the same team. Valid until the team is destroyed. */
void *shi_handle_team(const struct shmem_team *t);

/* The fault word (device/lib/state.h) that kernels have set through any context since the last call, or 0. */
uint64_t shi_handle_fault(void);

/* The same in words for one line; NULL for 0. Not for two threads at once. */
const char *shi_handle_fault_words(uint64_t fault);

#endif
