/*
 * handle.h - what kernels are given: contexts and teams, in memory that host and device share. Structures are those of
 * device/lib/state.h; pointers go to kernels as they are.
 */
#ifndef SHI_PROXY_HANDLE_H
#define SHI_PROXY_HANDLE_H

#include <stdint.h>

#include "host/coll/team.h"

/* Bring up the default context and the predefined teams, once; the device heap must be up. All of this file goes with
 * the device. 0 or -errno after one line. */
int shi_handle_up(void);

/* The default context. */
void *shi_handle_ctx(void);

/* A context of the team with a ring of its own. options: SHMEM_CTX_. 0 and *out, or -errno after one line. Pair:
 * shi_handle_ctx_destroy, which completes what was asked by it; no kernel may use it any more. */
int shi_handle_ctx_create(const struct shmem_team *t, long options, void **out);
void shi_handle_ctx_destroy(void *ctx);

/* The team for kernels; the same again for the same team. Good until the team is destroyed. */
void *shi_handle_team(const struct shmem_team *t);

/* What kernels complained of through any context since the last call: a fault word of device/lib/state.h, or 0. */
uint64_t shi_handle_fault(void);

/* The same in words for one line; NULL for 0. Not for two threads at once. */
const char *shi_handle_fault_words(uint64_t fault);

#endif
