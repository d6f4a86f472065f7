/*
 * boot.h - who we are and who the others are, and a way to hand them a few bytes before any transport exists.
 *
 * Backends: boot_pmix.c under a launcher with a PMIx server, boot_single.c alone.
 */
#ifndef SHI_BOOT_H
#define SHI_BOOT_H

#include <stddef.h>

struct shi_boot {
    int pe, n_pes;
    int n_local;      /* PEs of this node, this one included */
    int local_index;  /* this PE's place among them */
    int *local_pe;    /* their PE numbers, ascending; the backend's, to the process's end */
    const struct shi_boot_ops *ops;
};

struct shi_boot_ops {
    const char *name;
    /* Make bytes (a few KB at most) known to every PE under key. 0 or -errno. */
    int (*publish)(const char *key, const void *data, size_t bytes);
    /* Copy what PE pe published under key, which takes no message to its host after a fence; before one this may wait,
     * or fail. 0, or -errno; -EMSGSIZE when it is not `bytes` long. */
    int (*lookup)(int pe, const char *key, void *data, size_t bytes);
    /* Return once every PE has called it and what they published before is here. 0 or -errno. */
    int (*fence)(void);
    /* End the whole job with this status. Returns only when the launcher cannot be reached. */
    void (*abort_job)(int status);
    void (*down)(void); /* the launcher is left, once in a process */
};

/* Find the launcher, or be a job of one PE. 0, or -errno after one logged line. Pair: out->ops->down. */
int shi_boot_up(struct shi_boot *out);

/* Backends. */
int shi_boot_pmix_up(struct shi_boot *out);
int shi_boot_single_up(struct shi_boot *out);

#endif
