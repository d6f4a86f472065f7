/* init.c - entry points of set-up, exit and queries. */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx_uniqueid.h>
#include <stdlib.h>
#include <string.h>

#include "host/boot/boot.h"
#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/init/init.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/ops/span.h"
#include "host/util/end.h"
#include "host/util/log.h"

/* Number of initialisations without their shmem_finalize. The first decides the thread level. */
static int open_inits;

static void initialise(int thread_level)
{
    if (shi_world.up) {
        open_inits++;
        return;
    }
    shi_world_up(thread_level);
    open_inits = 1;
}

SHI_DEF(void, shmem_init, (void))
{
    initialise(SHMEM_THREAD_SINGLE);
}

SHI_DEF(int, shmem_init_thread, (int requested, int *provided))
{
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
        shi_die(__func__, "requested = %d is not a SHMEM_THREAD_ level", requested);
    initialise(requested);
    *provided = shi_world.thread_level;
    return 0;
}

int shmemx_get_uniqueid(shmemx_uniqueid_t *uniqueid)
{
    struct shi_uid id;
    int err = shi_uid_make(getenv("SHMEM_UID_INTERFACE"), &id);
    if (!err)
        memcpy(uniqueid, &id, sizeof *uniqueid);
    explicit_bzero(&id, sizeof id);
    return err;
}

int shmemx_set_attr_uniqueid_args(const int myrank, const int nranks, const shmemx_uniqueid_t *uniqueid, shmemx_init_attr_t *attr)
{
    if (myrank < 0 || myrank >= nranks)
        return -EINVAL;
    *attr = (shmemx_init_attr_t)SHMEMX_INIT_ATTR_INITIALIZER;
    attr->args.uid_args.id = (shmemx_uniqueid_t *)uniqueid;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return 0;
}

static int refuse(const char *routine, const char *why)
{
    shi_log_error("%s: %s", routine, why);
    return -EINVAL;
}

/* The unique id of the attributes is that of the next job. 0, or -EINVAL after one line. */
static int choose_uniqueid(const char *routine, const shmemx_init_attr_t *attr)
{
    struct shi_uid id;
    if (!attr || !attr->args.uid_args.id)
        return refuse(routine, "SHMEMX_INIT_WITH_UNIQUEID without a unique id (shmemx_set_attr_uniqueid_args)");
    const shmemx_uniqueid_args_t *a = &attr->args.uid_args;
    if (a->myrank < 0 || a->myrank >= a->nranks)
        return refuse(routine, "the number of this PE is not from 0 to that of all PEs minus 1");
    if (shi_is_forked())
        return refuse(routine, "called in a forked child of a PE");
    memcpy(&id, a->id, sizeof id);
    int err = shi_boot_by_uid(&id, a->myrank, a->nranks);
    explicit_bzero(&id, sizeof id);
    return err ? refuse(routine, "the unique id is not one of this library (shmemx_get_uniqueid), or was changed on the way") : 0;
}

static int initialise_by(const char *routine, unsigned flags, const shmemx_init_attr_t *attr, int thread_level)
{
    int err = 0;
    if (flags == SHMEMX_INIT_WITH_MPI_COMM)
        return refuse(routine, "SHMEMX_INIT_WITH_MPI_COMM: the program has to include mpi.h before shmemx.h");
    if (flags != 0 && flags != SHMEMX_INIT_WITH_SHMEM && flags != SHMEMX_INIT_WITH_UNIQUEID)
        return refuse(routine, "flags: one of SHMEMX_INIT_WITH_UNIQUEID, SHMEMX_INIT_WITH_MPI_COMM and SHMEMX_INIT_WITH_SHMEM is expected");
    if (flags == SHMEMX_INIT_WITH_UNIQUEID && !shi_world.up)
        err = choose_uniqueid(routine, attr);
    if (!err && flags == SHMEMX_INIT_WITH_UNIQUEID && !shi_world.up && shi_world.ever_up)
        shi_world_leave();
    if (!err)
        initialise(thread_level);
    return err;
}

int shmemx_init_attr(unsigned flags, shmemx_init_attr_t *attributes)
{
    return initialise_by(__func__, flags, attributes, SHMEM_THREAD_SERIALIZED);
}

int shmemx_init_thread_attr(unsigned flags, shmemx_init_attr_t *attributes, int requested, int *provided)
{
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
        shi_die(__func__, "requested = %d is not a SHMEM_THREAD_ level", requested);
    int err = initialise_by(__func__, flags, attributes, requested);
    *provided = shi_world.thread_level;
    return err;
}

SHI_DEF(void, start_pes, (int npes))
{
    (void)npes; /* ignored, as the specification says: the launcher decides */
    if (!shi_world.up)
        initialise(SHMEM_THREAD_SINGLE); /* counted, so that other pairs do not end it; a further call has no effect */
}

SHI_DEF(void, shmem_query_thread, (int *provided))
{
    shi_need_up(__func__);
    *provided = shi_world.thread_level;
}

SHI_DEF(void, shmem_query_initialized, (int *initialized))
{
    *initialized = shi_world.up;
}

/* Only the outermost of nested pairs releases resources: OpenSHMEM 1.6, shmem_finalize. In an exit handler or a destructor
 * after shmem_global_exit it does nothing, because the other PEs do not call it. A call too many does nothing either:
 * programs whose libraries finalise, too, make it at their end, and other implementations ignore it. */
SHI_DEF(void, shmem_finalize, (void))
{
    if (!shi_world.up && shi_world.ever_up && !shi_is_forked()) {
        if (shi_world.check)
            shi_log_error("%s: ignored: every shmem_init has had its shmem_finalize", shi_log_routine(__func__));
        return;
    }
    shi_need_up(__func__);
    if (shi_end_under_way())
        return;
    if (open_inits == 1) {
        shi_world_down(__func__, 0);
        open_inits = 0;
        return;
    }
    SHI_AGREE("shmem_finalize of an inner pair", &shi_team_world, {0});
    open_inits--;
    SHI_SPAN(span, SHI_BARRIERS, __func__, NULL, SHI_TO_NONE, 0);
    shi_team_quiet_barrier(__func__, &shi_team_world);
}

void shmem_global_exit(int status) __attribute__((weak, alias("pshmem_global_exit")));
void pshmem_global_exit(int status)
{
    shi_need_up(__func__);
    shi_world_exit(status);
}

SHI_DEF(int, shmem_my_pe, (void))
{
    shi_need_up(__func__);
    return shi_world.pe;
}

SHI_DEF(int, shmem_n_pes, (void))
{
    shi_need_up(__func__);
    return shi_world.n_pes;
}

SHI_DEF(int, _my_pe, (void))
{
    return pshmem_my_pe();
}

SHI_DEF(int, _num_pes, (void))
{
    return pshmem_n_pes();
}

SHI_DEF(int, shmem_pe_accessible, (int pe))
{
    shi_need_up(__func__);
    return pe >= 0 && pe < shi_world.n_pes;
}

SHI_DEF(int, shmem_addr_accessible, (const void *addr, int pe))
{
    shi_need_up(__func__);
    if (pe < 0 || pe >= shi_world.n_pes)
        return 0;
    const struct shi_peer *p = &shi_world.peer[pe];
    struct shi_remote_addr remote;
    if (shi_reach_read(p, addr, 1))
        return 1;
    return shi_dheap_hides(addr, 1) || (p->remote && shi_remote_addr_of(p, SHI_READ, addr, 1, &remote) == 0);
}

SHI_DEF(void *, shmem_ptr, (const void *dest, int pe))
{
    shi_need_up(__func__);
    if (pe < 0 || pe >= shi_world.n_pes)
        shi_die(__func__, "pe = %d: not one of PEs 0 to %d", pe, shi_world.n_pes - 1);
    return shi_reach(&shi_world.peer[pe], dest, 1);
}

SHI_DEF(void, shmem_info_get_version, (int *major, int *minor))
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

SHI_DEF(void, shmem_info_get_name, (char *name))
{
    strcpy(name, SHMEM_VENDOR_STRING); /* it has SHMEM_MAX_NAME_LEN bytes, which is more */
}

SHI_DEF(void, shmem_pcontrol, (int level, ...))
{
    (void)level; /* for profiling libraries that interpose; this library has no profiling control */
}
