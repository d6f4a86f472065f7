/* gpc.h - global procedure calls: start them on one PE as root, and take part in those of others. */
#ifndef SHI_GPC_H
#define SHI_GPC_H

#include <shmemx_gpc.h>

#include "host/coll/team.h"

/* Limits of shmemx_gpc_limits; see also gpc_run.h. */
enum { SHI_GPC_HLEN = 1024, SHI_GPC_DLEN = 1 << 30 };

/* A GPC to start; arguments checked, PE numbers of the team. */
struct shi_gpc_params {
    struct shmem_team *team;
    int func, callback, tree; /* plain: callback and tree are SHMEMX_GPC_NONE */
    int plain, pe;            /* plain: to this PE, and the root does not run func */
    int nested;               /* started inside a func or callback, or by a kernel: not limited by SHI_GPC_IN_FLIGHT */
    const void *hdr, *data;
    size_t hlen, dlen;
    void *rhdr, *rdata;
    size_t rhlen, rdlen;
    int idlen;
    const int *ids, *below;   /* see gpc_tree.h; copied */
    shmemx_gpc_nbh_t *nbh;
};

/* Before the first use, on every PE, before any PE can send. 0 or -errno after one line. Later calls have no effect. */
int shi_gpc_up(void);

/* Start. nbh->busy becomes 0 when it is complete. 0 or -ENOMEM. */
int shi_gpc_start(const struct shi_gpc_params *w);

/* Collective over the PEs that live, in finalize: wait until no PE has a GPC under way, its own or another's. */
void shi_gpc_finish(void);

/* After that and a barrier: stop dispatching. */
void shi_gpc_stop(void);

#endif
