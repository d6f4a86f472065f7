/*
 * shmemx_gpc.h - global procedure calls: run a function at another PE, or at many along a tree, and get its answer.
 *
 * Included by shmemx.h. PE numbers are those of the team given; one that takes part is called an id.
 *
 * Plain:    the id receives the call, runs func, and answers.
 * Chained:  the root runs func and then calls its children in the tree over idlst. Every id receives the call, runs
 *           func, and calls its own children. Whenever a child answers, the callback runs, at every id that has children
 *           and at the root. After the last child's answer the id answers its parent: with its reply header and data
 *           where the root gave room for a reply (rhlen or rdlen is not 0), else with completion alone.
 * Failure:  func or a callback returns a negative number or says that a reply is longer than its room, or an id has not
 *           the memory. The id tells its parent, once, and ignores what its children answer afterwards; a parent that is
 *           told does the same. What runs elsewhere is not stopped; ids below a func that failed are not called. The
 *           root learns success or failure, nothing else. A PE that dies ends the job.
 *
 * Calls are received in all library calls that wait, and by a thread of the library while the program computes. func and
 * callback run one at a time on each PE, in the order of arrival, on a thread of the program that waits in the library
 * or, when none does, on a thread of the library's: what they share with the program needs atomics or locks, whatever
 * the thread level. SHMEM_GPC_THREAD=0 leaves that thread out: then they run only in calls that wait and in
 * shmemx_gpc_test. A func that takes long holds up later calls to that PE, not put, get, atomics, signals and messages.
 *
 * Inside func and callback every nonblocking routine may be called, and GPCs. They may wait for GPCs that they started
 * themselves; other functions run on that PE meanwhile, and may be called by the GPC that is awaited. Each function that
 * waits keeps its stack, each one that returns SHMEMX_GPC_PENDING only what it put into `state`. Barriers, collectives,
 * locks and waits for a variable end the job there.
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

enum { SHMEMX_GPC_BINARY = 0, SHMEMX_GPC_BINOMIAL = 1 };               /* trees that are always there */
enum { SHMEMX_GPC_NONE = -1 };                                         /* no callback */
enum { SHMEMX_GPC_INIT = 1, SHMEMX_GPC_PROBE = 2, SHMEMX_GPC_WAIT = 3 }; /* why a function is called */
enum { SHMEMX_GPC_DONE = 0, SHMEMX_GPC_PENDING = 1 };                  /* what it returns */

/*
 * What func and callback are given: one object at each id for the whole of a GPC.
 *
 * func is called with SHMEMX_GPC_INIT. While it returns SHMEMX_GPC_PENDING it is called again with SHMEMX_GPC_PROBE, other
 * GPCs' functions in between; with SHMEMX_GPC_DONE it is done, and the children are called. callback is called with
 * SHMEMX_GPC_WAIT for each child's answer; where callback is SHMEMX_GPC_NONE, func is. All pointers but state end with
 * the id's last call. rhdr and rdata are this id's own answer, kept from one call to the next: func puts its own result
 * there, the callback adds the child's, say. At the root they are the buffers given to exec.
 */
typedef struct shmemx_gpc_call {
    int stage;                  /* SHMEMX_GPC_INIT, _PROBE, _WAIT */
    int root;
    int from;                   /* INIT and PROBE: the parent, at the root itself; WAIT: the child */
    int func, callback, tree;   /* handles */
    shmem_team_t team;
    uint64_t id;                /* of this GPC: the same at every id, and no other GPC's */
    const void *hdr, *data;     /* as given to exec; read only */
    size_t hlen, dlen;
    void *rhdr, *rdata;         /* this id's answer, room for rhlen and rdlen bytes */
    size_t rhlen, rdlen;
    size_t rhsize, rdsize;      /* out: how much of it there is; 0 at first */
    const void *chdr, *cdata;   /* WAIT: the child's answer, chlen and cdlen bytes */
    size_t chlen, cdlen;
    int idlen;                  /* the ids below this one, in the order in which the tree visits them */
    const int *idlst;
    void *state;                /* the functions' own, NULL at first */
} shmemx_gpc_call_t;
typedef int (*shmemx_gpc_func_t)(shmemx_gpc_call_t *call);

/*
 * A tree. Write the children of `id` to children[], which has room for idlen, and return their number, or a negative
 * number: no such tree. idlst are the ids without the root. Called in exec, at the root, for the root and then for each
 * id. Every id must have one parent and be reached.
 */
typedef int (*shmemx_gpc_tree_t)(int root, int id, int idlen, const int *idlst, int *children);

/*
 * Registration is collective over SHMEM_TEAM_WORLD, by all PEs in the same order; it returns a handle that is equal on
 * all PEs, or -ENOSPC on all. The function must be the same on every PE. Release is collective too: no GPC that uses the
 * handle may be under way. 0, or -EINVAL for what is no handle.
 */
int shmemx_gpc_register(shmemx_gpc_func_t func);
int shmemx_gpc_register_callback(shmemx_gpc_func_t callback);
int shmemx_gpc_register_tree(shmemx_gpc_tree_t tree);
int shmemx_gpc_release(int handle);

/* The longest of everything. */
typedef struct shmemx_gpc_limits {
    size_t hlen, dlen, rhlen, rdlen; /* bytes */
    int handles;                     /* registered at one time */
    int in_flight;                   /* GPCs of one root on their way; later ones wait at the root for their turn. Those
                                      * that functions and kernels start do not count and do not wait */
} shmemx_gpc_limits_t;
void shmemx_gpc_limits(shmemx_gpc_limits_t *limits);

/*
 * A GPC that was started and not awaited. To be initialised once; it serves for one GPC at a time and may be used again
 * as soon as that one has completed. The last three are valid then.
 */
typedef struct shmemx_gpc_nbh {
    int busy;
    int status;            /* 0, or -EIO: an id failed */
    size_t rhsize, rdsize; /* how much reply there is */
} shmemx_gpc_nbh_t;
void shmemx_gpc_nbh_init(shmemx_gpc_nbh_t *nbh);
int shmemx_gpc_test(shmemx_gpc_nbh_t *nbh); /* 1: complete, 0: not yet; makes progress */
int shmemx_gpc_wait(shmemx_gpc_nbh_t *nbh); /* its status; -EDEADLK: see below */

/*
 * Start a GPC and, where nbh is NULL, wait for it: 0 or -EIO then. What is wrong with the arguments is told in one line
 * and with -EINVAL, a handle in use with -EBUSY, and nothing is sent: a PE outside the team, lengths over the limits, a
 * handle that is none, an id twice in idlst, a tree with a cycle, a second parent or an id out of reach. The root may be
 * in idlst or not, and idlen 0: it runs func once.
 *
 * -EDEADLK, after one line, from a wait or a blocking exec inside functions that wait inside each other more deeply than a
 * stack takes, where there can be no further thread (SHMEM_GPC_THREAD=0): nothing was started, nothing awaited.
 *
 * hdr and idlst may be used again when the call returns; data, which may be any memory of the PE, and rhdr and rdata,
 * which are valid then, when the GPC is complete.
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
