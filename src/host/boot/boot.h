/*
 * boot.h - bootstrap: this PE's number, the PEs of its node, and an exchange of a few bytes before any transport exists.
 *
 * Backends: boot_pmix.c under a launcher with a PMIx server, boot_pmi.c under MPICH's launcher and
 * Slurm's plugin pmi2, boot_uid.c for processes that meet by a unique id, boot_single.c for one process.
 */
#ifndef SHI_BOOT_H
#define SHI_BOOT_H

#include <stddef.h>

#include "host/util/startup.h"

#define SHI_SECRET_NAME "fulmar.secret" /* PMIx key, given by oshrun: a PMIX_BYTE_OBJECT of SHI_SECRET_BYTES */
#define SHI_SURVIVE_NAME "fulmar.survive" /* PMIx key, given by oshrun --survive, true; and an attribute of the fence at the end of shmem_init */
#define SHI_REPLACE_NAME "fulmar.replace" /* PMIx key, given by oshrun --replace, true */
#define SHI_REPLACE_ENV "FULMAR_REPLACES" /* of a PE that oshrun has started again: the job's name */
enum { SHI_SECRET_BYTES = 16, SHI_UID_BYTES = 128 };

/* The unique id of a job that is started without a launcher: boot_uid.c. It holds the job's secret; never print it. */
struct shi_uid {
    unsigned char bytes[SHI_UID_BYTES];
};

/* The launcher starts them, or they come by the unique id. */
enum shi_replaces { SHI_REPLACES_NONE, SHI_REPLACES_BY_LAUNCHER, SHI_REPLACES_BY_ID };

struct shi_boot {
    int pe, n_pes;
    int n_local;      /* PEs of this node, this one included */
    int local_index;  /* this PE's local rank */
    int *local_pe;    /* their PE numbers, ascending; by malloc; the caller of shi_boot_up frees it */
    unsigned char secret[SHI_SECRET_BYTES]; /* random bits that only PEs of this job know; never print them */
    int has_secret;                         /* 0: the launcher gives none */
    const char *job;                        /* the launcher's name of the job */
    int replaces;                           /* enum shi_replaces: processes take the places of those that have died, */
    int is_new;                             /* and this is such a process */
    const struct shi_boot_ops *ops;
};

struct shi_boot_ops {
    const char *name;
    /* Publish `bytes` bytes, a few KB at most, to all PEs under key. 0 or -errno. */
    int (*publish)(const char *key, const void *data, size_t bytes);
    /* Copy what PE pe published under key. After a fence this is a local operation; before one it may block or fail. 0, or
     * -errno; -EMSGSIZE when the published data is not `bytes` long: then what fits is copied. */
    int (*lookup)(int pe, const char *key, void *data, size_t bytes);
    /* Barrier over all PEs; what they published before it is available locally after it. 0 or -errno. */
    int (*fence)(void);
    /* At the end of shmem_init. survives: SHMEM_FAULTS=continue; from now on the launcher lets others go on when a PE dies, after a barrier, or has
     * nothing to do with the job. NULL: it ends the job. */
    int (*started)(int survives);
    /* 1: the launcher has closed the connection, as after another library's finalize. NULL: never. */
    int (*is_gone)(void);
    /* End the job with this status. Returns only when the launcher is unreachable. */
    void (*abort_job)(int status);
    void (*down)(void); /* disconnect from the launcher; once in a job */
};

/* Connect to the launcher, or to the other processes with the unique id; without both the job has one PE. A host that is silent for
 * silence_s seconds is dead, where the backend finds that out; 0: never. survives: SHMEM_FAULTS=continue. 0, or -errno after one logged line.
 * Pair: out->ops->down. */
int shi_boot_up(long silence_s, int survives, struct shi_boot *out);

/* Make a unique id at whose addresses this process listens, on the named interfaces, NULL or "": all. 0, or -errno after one line. */
int shi_uid_make(const char *interface, struct shi_uid *out);

/* The next shi_boot_up is by this id, as PE pe of n_pes, whatever launcher there is. 0, or -EINVAL: no unique id of this version. */
int shi_boot_by_uid(const struct shi_uid *id, int pe, int n_pes);

/* b->ops->fence and lookup as phases of shmem_init; text: what the others have to do. */
static inline int shi_boot_fence(const struct shi_boot *b, const char *text)
{
    static struct shi_phase phase;
    phase.text = text;
    phase.patience_s = 1 + (b->pe != 0);
    shi_startup_phase(&phase);
    int err = b->ops->fence();
    shi_startup_phase(NULL);
    return err;
}

static inline int shi_boot_started(const struct shi_boot *b, int survives)
{
    return b->ops->started ? b->ops->started(survives) : 0;
}

static inline int shi_boot_lookup(const struct shi_boot *b, int pe, const char *key, void *data, size_t bytes)
{
    static const struct shi_phase phase = {.text = "waiting for the launcher to give another PE's data"};
    shi_startup_phase(&phase);
    int err = b->ops->lookup(pe, key, data, bytes);
    shi_startup_phase(NULL);
    return err;
}

/* Backends. */
int shi_boot_pmix_up(struct shi_boot *out);
int shi_boot_pmi_up(struct shi_boot *out);
int shi_boot_single_up(struct shi_boot *out);

/* Is there a unique id, or SHMEM_UNIQUEID? */
int shi_boot_uid_is_given(void);
int shi_boot_uid_up(long silence_s, int survives, struct shi_boot *out);

#endif
