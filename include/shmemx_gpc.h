/*
 * shmemx_gpc.h - global procedure calls: run a function at another PE, or at many along a tree, and get the reply.
 *
 * Included by shmemx.h. PE numbers are those of the team argument; a PE that takes part in a call is called an id.
 *
 * Plain:    the id receives the call, runs func, and replies.
 * Chained:  the root runs func and then calls its children in the tree over idlst. Every id receives the call, runs
 *           func, and calls its own children. At the root and at every id that has children, the callback runs for each
 *           reply of a child. After the last child's reply the id replies to its parent: with its reply header and data
 *           if the root gave buffers for a reply (rhlen or rdlen is not 0), else with completion alone.
 * Failure:  func or a callback returns a negative number or sets a reply length beyond the buffer, or an id is out of
 *           memory. The id notifies its parent, once, and ignores later replies of its children; the parent does the
 *           same. Other ids continue; ids below a func that failed are not called. The root gets success, or failure and
 *           the first id whose failure it heard of (nbh.failed). When a PE dies, the job ends, or the id fails (shmemx_survive.h).
 *
 * All library calls that wait receive calls; while the program computes, a library thread does. Each PE runs one func or
 * callback at a time, in the order of arrival, on a thread of the program that waits in the library or, if no thread waits,
 * on a library thread: data that they share with the program needs atomics or locks at every thread level. With
 * SHMEM_GPC_THREAD=0 there is no library thread: they run only in calls that wait and in shmemx_gpc_test. A long func
 * delays later calls to that PE, but not put, get, atomics, signals and messages.
 *
 * func and callback may call any nonblocking routine and start GPCs. They may wait for GPCs that they started themselves;
 * meanwhile the PE runs other functions, also those of the awaited GPC. A function that waits keeps its stack frame; one
 * that returns SHMEMX_GPC_PENDING keeps only what it stored in `state`. In func and callback, barriers, collectives, locks
 * and waits on a variable end the job.
 */
#ifndef SHMEMX_GPC_H
#define SHMEMX_GPC_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#ifndef SHI_GPC_TREES_ /* of shmemg.h */
#define SHI_GPC_TREES_
enum { SHMEMX_GPC_BINARY = 0, SHMEMX_GPC_BINOMIAL = 1 };               /* predefined trees */
enum { SHMEMX_GPC_NONE = -1 };                                         /* no callback */
#endif
enum { SHMEMX_GPC_INIT = 1, SHMEMX_GPC_PROBE = 2, SHMEMX_GPC_WAIT = 3 }; /* the reason of a call of func or callback */
enum { SHMEMX_GPC_DONE = 0, SHMEMX_GPC_PENDING = 1 };                  /* its return values */

/*
 * The argument of func and callback: at each id, all calls of one GPC receive the same object.
 *
 * The library calls func with SHMEMX_GPC_INIT. While func returns SHMEMX_GPC_PENDING, the library calls it again with
 * SHMEMX_GPC_PROBE, and may call functions of other GPCs in between. When func returns SHMEMX_GPC_DONE, the children are
 * called. For each child's reply the library calls callback, or func if callback is SHMEMX_GPC_NONE, with SHMEMX_GPC_WAIT.
 * All pointers except state are valid until the id's last call returns. rhdr and rdata are this id's own reply and persist
 * between the calls: for example func stores its result there and the callback adds the child's. At the root they are the
 * buffers passed to exec.
 */
typedef struct shmemx_gpc_call {
    int stage;                  /* SHMEMX_GPC_INIT, _PROBE, _WAIT */
    int root;
    int from;                   /* INIT and PROBE: the parent (at the root: the root); WAIT: the child */
    int func, callback, tree;   /* handles */
    shmem_team_t team;
    uint64_t id;                /* of this GPC: equal at every id and unique */
    const void *hdr, *data;     /* the arguments of exec; read only */
    size_t hlen, dlen;
    void *rhdr, *rdata;         /* this id's reply, buffers of rhlen and rdlen bytes */
    size_t rhlen, rdlen;
    size_t rhsize, rdsize;      /* out: the lengths of the reply; 0 at first */
    const void *chdr, *cdata;   /* WAIT: the child's reply, chlen and cdlen bytes */
    size_t chlen, cdlen;
    int idlen;                  /* the ids below this one, in the order in which the tree visits them */
    const int *idlst;
    void *state;                /* for use by the functions; NULL at first */
} shmemx_gpc_call_t;
typedef int (*shmemx_gpc_func_t)(shmemx_gpc_call_t *call);

/*
 * A tree. Write the children of `id` to children[], an array of idlen, and return their number, or a negative number if
 * there is no such tree. idlst are the ids without the root. exec calls it at the root, for the root and then for each id.
 * Every id must have exactly one parent and be reachable from the root.
 */
typedef int (*shmemx_gpc_tree_t)(int root, int id, int idlen, const int *idlst, int *children);

/*
 * Registration is collective over SHMEM_TEAM_WORLD, by all PEs in the same order; it returns a handle that is equal on
 * all PEs, or -ENOSPC on all. The function must be the same on every PE. Release is collective too; no GPC that uses the
 * handle may be in flight. It returns 0, or -EINVAL for an invalid handle.
 */
int shmemx_gpc_register(shmemx_gpc_func_t func);
int shmemx_gpc_register_callback(shmemx_gpc_func_t callback);
int shmemx_gpc_register_tree(shmemx_gpc_tree_t tree);
int shmemx_gpc_release(int handle);

/* Limits. */
typedef struct shmemx_gpc_limits {
    size_t hlen, dlen, rhlen, rdlen; /* bytes */
    int handles;                     /* registered at one time */
    int in_flight;                   /* GPCs of one root in flight; later ones wait at the root. Those
                                      * that functions and kernels start do not count and do not wait */
} shmemx_gpc_limits_t;
void shmemx_gpc_limits(shmemx_gpc_limits_t *limits);

/*
 * Handle of a nonblocking GPC. Initialise it once; it is for one GPC at a time and may be reused when that GPC is complete.
 * The members below busy are valid then.
 */
typedef struct shmemx_gpc_nbh {
    int busy;
    int status;            /* 0, or -EIO: an id failed */
    size_t rhsize, rdsize; /* the lengths of the reply */
    int failed;            /* with -EIO: the id that failed, of several the one that the root heard of first; else -1 */
} shmemx_gpc_nbh_t;
void shmemx_gpc_nbh_init(shmemx_gpc_nbh_t *nbh);
int shmemx_gpc_test(shmemx_gpc_nbh_t *nbh); /* 1: complete, 0: not yet; makes progress */
int shmemx_gpc_wait(shmemx_gpc_nbh_t *nbh); /* returns its status; -EDEADLK: see below */

/*
 * Start a GPC and, if nbh is NULL, wait for it; the blocking form returns 0 or -EIO. For invalid arguments print one line,
 * return -EINVAL and start nothing: a PE outside the team, lengths over the limits, an invalid handle, a duplicate id in
 * idlst, a tree with a cycle, an id with two parents or an unreachable id. -EBUSY if nbh is in use. -ENOMEM, after one line,
 * without memory at the root, which starts nothing; an id without memory fails (-EIO). The root may be in idlst or not; idlen
 * may be 0. In every case the root runs func once.
 *
 * A wait or a blocking exec inside a function returns -EDEADLK, after one line, when a stack has the maximum of nested
 * waiting functions and SHMEM_GPC_THREAD=0 allows no further thread; nothing was started and nothing was awaited.
 *
 * hdr and idlst may be reused when the call returns; data, in any memory of the PE, and rhdr and rdata when the GPC is
 * complete. rhdr and rdata are valid then.
 */
int shmemx_gpc_exec(shmem_team_t team, int func, int pe, const void *hdr, size_t hlen, const void *data, size_t dlen,
                    void *rhdr, size_t rhlen, void *rdata, size_t rdlen, shmemx_gpc_nbh_t *nbh);
int shmemx_gpc_chained_exec(shmem_team_t team, int func, int callback, const void *hdr, size_t hlen, const void *data,
                            size_t dlen, void *rhdr, size_t rhlen, void *rdata, size_t rdlen, int idlen,
                            const int *idlst, shmemx_gpc_nbh_t *nbh, int tree);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
