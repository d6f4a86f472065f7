/* sync.c - completion, barriers, atomic updates of a word, mutexes. */
#if HAVE_CONFIG_H
#include "config.h"
#endif
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comex_impl.h"

#include <shmem.h>
#include <shmemx.h>

enum { ALL = COMEX_PENDING_PUT | COMEX_PENDING_GET | COMEX_PENDING_ACC };

/* ---- completion ------------------------------------------------------------------------------------------------------- */

void comex_settle(int proc, unsigned kinds)
{
    kinds &= l_state.pending[proc];
    if (kinds & COMEX_PENDING_ACC)
        comex_acc_settle(proc);
    if (kinds & (COMEX_PENDING_PUT | COMEX_PENDING_GET)) {
        shmemx_req_t r;
        shmemx_pe_quiet_nb(proc, &r);
        shmemx_req_wait(&r);
        kinds |= COMEX_PENDING_PUT | COMEX_PENDING_GET;
    }
    l_state.pending[proc] &= (unsigned char)~kinds;
}

void comex_settle_all(void)
{
    comex_acc_settle(-1);
    shmem_quiet();
    memset(l_state.pending, 0, (size_t)l_state.size);
}

int comex_fence_all(comex_group_t group)
{
    (void)group;
    comex_enter();
    comex_settle_all();
    comex_leave();
    return COMEX_SUCCESS;
}

int comex_wait_all(comex_group_t group)
{
    return comex_fence_all(group);
}

static int settle(int proc)
{
    comex_enter();
    comex_acc_flush();
    comex_settle(proc, ALL);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* stores to near processes */
    comex_leave();
    return COMEX_SUCCESS;
}

int comex_fence_proc(int proc, comex_group_t group)
{
    return settle(comex_world_rank(proc, group));
}

int comex_wait_proc(int proc, comex_group_t group)
{
    return comex_fence_proc(proc, group);
}

/* A handle is a process, from 1: all operations on it that were issued before. */
int comex_issued(int proc, comex_request_t *handle)
{
    if (handle)
        *handle = proc + 1;
    return COMEX_SUCCESS;
}

int comex_wait(comex_request_t *handle)
{
    return handle && *handle > 0 ? settle(*handle - 1) : COMEX_SUCCESS;
}

/* *status is 0 if the operations are complete, as they are when this returns. */
int comex_test(comex_request_t *handle, int *status)
{
    *status = 0;
    return comex_wait(handle);
}

int comex_barrier(comex_group_t group)
{
    MPI_Comm comm;
    comex_fence_all(group);
    if (group == COMEX_GROUP_WORLD) {
        shmem_sync_all();
        return COMEX_SUCCESS;
    }
    comex_group_comm(group, &comm);
    MPI_Barrier(comm);
    return COMEX_SUCCESS;
}

/* Global Arrays waits for messages of MPI in a loop around this call. Nothing ever writes the word; the test lets the library work. */
void comex_make_progress(void)
{
    comex_enter();
    comex_acc_flush();
    comex_leave();
    shmem_int_test(l_state.never, SHMEM_CMP_NE, 0);
    sched_yield();
}

/* ---- words -------------------------------------------------------------------------------------------------------------- */

int comex_rmw(int op, void *ploc, void *prem, int extra, int proc, comex_group_t group)
{
    proc = comex_world_rank(proc, group);
    comex_enter();
    comex_acc_flush();
    comex_settle(proc, COMEX_PENDING_PUT | COMEX_PENDING_ACC);
    comex_leave();
    int is_long = op == COMEX_SWAP_LONG || op == COMEX_FETCH_AND_ADD_LONG;
    void *at = comex_symmetric(prem, is_long ? sizeof(long) : sizeof(int), proc);
    switch (op) {
    case COMEX_FETCH_AND_ADD: *(int *)ploc = shmem_int_atomic_fetch_add(at, extra, proc); break;
    case COMEX_FETCH_AND_ADD_LONG: *(long *)ploc = shmem_long_atomic_fetch_add(at, extra, proc); break;
    case COMEX_SWAP: *(int *)ploc = shmem_int_atomic_swap(at, *(int *)ploc, proc); break;
    case COMEX_SWAP_LONG: *(long *)ploc = shmem_long_atomic_swap(at, *(long *)ploc, proc); break;
    default: COMEX_DIE("operation %d", op);
    }
    return COMEX_SUCCESS;
}

/* ---- mutexes ------------------------------------------------------------------------------------------------------------ */

static long *locks; /* symmetric; the mutexes of process p are locks[first[p]] to locks[first[p + 1] - 1] */
static int *first;

int comex_create_mutexes(int num)
{
    first = malloc(((size_t)l_state.size + 1) * sizeof *first);
    if (!first || locks)
        COMEX_DIE(locks ? "there are mutexes already" : "out of memory");
    first[0] = 0;
    MPI_Allgather(&num, 1, MPI_INT, first + 1, 1, MPI_INT, l_state.world_comm);
    for (int p = 0; p < l_state.size; p++)
        first[p + 1] += first[p];
    locks = shmem_calloc((size_t)first[l_state.size] + 1, sizeof *locks);
    if (!locks)
        COMEX_DIE("no memory for %d mutexes (SHMEM_SYMMETRIC_SIZE)", first[l_state.size]);
    return COMEX_SUCCESS;
}

int comex_destroy_mutexes(void)
{
    shmem_free(locks);
    free(first);
    locks = NULL;
    first = NULL;
    return COMEX_SUCCESS;
}

static long *mutex_at(int mutex, int proc)
{
    if (!locks || proc < 0 || proc >= l_state.size || mutex < 0 || mutex >= first[proc + 1] - first[proc])
        COMEX_DIE("there is no mutex %d of process %d", mutex, proc);
    return &locks[first[proc] + mutex];
}

int comex_lock(int mutex, int proc)
{
    comex_enter();
    comex_acc_flush();
    comex_leave();
    shmem_set_lock(mutex_at(mutex, proc));
    return COMEX_SUCCESS;
}

int comex_unlock(int mutex, int proc)
{
    comex_fence_all(COMEX_GROUP_WORLD);
    shmem_clear_lock(mutex_at(mutex, proc));
    return COMEX_SUCCESS;
}
