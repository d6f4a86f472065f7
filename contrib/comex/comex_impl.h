/*
 * comex_impl.h - ComEx over OpenSHMEM: what the files of this port share.
 *
 * All memory that other processes reach is in one arena, an allocation of the symmetric heap of the same size at each PE. Each process gives out its
 * own part of it as it likes (arena.c), so the addresses that ComEx's callers exchange are not symmetric: an address of process `proc` becomes
 * the symmetric one by its offset in the arena. PEs are the ranks of the communicator that comex_init got.
 *
 * Order, as ComEx promises it: a process's operations on one location of one process take effect in the order of their calls. On processes that share
 * memory, `near`, each operation is done when its call returns. On the others a put or an accumulate may be under way: pending[] says so, and each
 * operation that could overtake it completes it first (comex_settle).
 */
#ifndef COMEX_IMPL_H_
#define COMEX_IMPL_H_

#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

#include "comex.h"

enum { COMEX_PENDING_PUT = 1, COMEX_PENDING_GET = 2, COMEX_PENDING_ACC = 4 };

struct comex_state {
    int rank, size;
    MPI_Comm world_comm;
    int threads;          /* calls may come from several threads at a time */
    char *arena;          /* at this process */
    size_t arena_bytes;
    int *never;           /* symmetric, and 0 */
    char **base;          /* [size]: the arena's address at each process */
    char **near;          /* [size]: where this process reaches that arena by load and store, or NULL */
    unsigned char *pending; /* [size]: of this process's operations on each */
};
extern struct comex_state l_state;

/* One line on stderr, and the end of the job. */
#define COMEX_DIE(...) comex_die(__func__, __VA_ARGS__)
_Noreturn void comex_die(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The lock of the tables above, taken where several threads may call. */
void comex_enter(void);
void comex_leave(void);

/* *handle, unless it is NULL, becomes that of all operations on proc, of the world, so far. COMEX_SUCCESS. */
int comex_issued(int proc, comex_request_t *handle);

/* The process of the world that is `proc` of the group. */
int comex_world_rank(int proc, comex_group_t group);

/* `remote`, an address of process proc, of at least `bytes` bytes: where this process loads and stores it (near), or its symmetric address. */
void *comex_near(const void *remote, size_t bytes, int proc);
void *comex_symmetric(const void *remote, size_t bytes, int proc);

/* Complete the operations on proc of these kinds (COMEX_PENDING_). Under the lock. */
void comex_settle(int proc, unsigned kinds);
void comex_settle_all(void);

/* arena.c: blocks of this process's part, aligned to 64 bytes; NULL: there is no space. 0 bytes take none and give NULL. */
void comex_arena_init(void *at, size_t bytes);
void *comex_arena_alloc(size_t bytes);
void comex_arena_free(void *block);

/* strided.c: the rows of a strided transfer: count[0] bytes each, which is the unit of all strides. */
struct comex_rows {
    const int *count, *src_stride, *dst_stride;
    int levels;
    int at[COMEX_MAX_STRIDE_LEVEL + 1]; /* the row's number in each level; at[0] is not used */
    ptrdiff_t src, dst;                 /* offsets of the row */
};
/* Both: 0 if there is no row, or no further one. */
int comex_rows_begin(struct comex_rows *r, const int *count, int levels, const int *src_stride, const int *dst_stride);
int comex_rows_next(struct comex_rows *r);

/* acc.c: registers its function of remote accumulates: collective. Under the lock: send what accumulates have gathered; complete the accumulates to
 * proc, or to all (-1). */
void comex_acc_init(void);
void comex_acc_flush(void);
void comex_acc_settle(int proc);

void comex_make_progress(void); /* for ComEx's messages */

/* groups.c */
void comex_group_init(void);
void comex_group_finalize(void);

#endif
