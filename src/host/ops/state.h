/*
 * state.h - what every operation needs to know: who takes part, and where their memory is.
 *
 * Address translation is the fast path and the check at once. A context's table holds, for each PE that loads and
 * stores can reach, how far away its heap and its static data are and how long they are. An address inside is moved
 * there; everything else (bad PE, not symmetric, past the end, library not initialised, a PE of another node) misses
 * and is sorted out by shi_miss. SHMEM_CHECK=1, SHMEM_STATS and SHMEM_TRACE empty the table, so that every operation
 * takes the slow path, which alone checks and counts.
 */
#ifndef SHI_OPS_STATE_H
#define SHI_OPS_STATE_H

#include <shmem.h>

#include "host/boot/boot.h"
#include "host/net/net_shm.h"
#include "host/util/base.h"
#include "host/util/config.h"

/* One reachable PE. Lengths 0: not reachable by load and store. */
struct shi_peer {
    ptrdiff_t heap_delta, data_delta; /* add to an own symmetric address to get the peer's */
    size_t heap_bytes, data_bytes;
    ptrdiff_t dev_delta; /* the same for the device heap, which the fast path does not look at */
    size_t dev_bytes;
    int pe;              /* world number */
    short far;           /* only the network reaches it: far.h */
    short same_program;  /* its static data is laid out like ours */
} __attribute__((aligned(SHI_LINE_BYTES)));

/* Constants between init and finalize. The first line is what the data path reads. */
struct shi_world {
    uintptr_t heap_lo, data_lo;
    int pe, n_pes;
    int up;                      /* between shmem_init and shmem_finalize */
    int check;                   /* SHMEM_CHECK */
    int watched;                 /* SHMEM_STATS or SHMEM_TRACE: stats.h counts every call */
    int thread_level;
    int threads;                 /* may threads call at the same time? Set at init for SHMEM_THREAD_MULTIPLE, and once the
                                    library starts a thread that runs functions of the program */
    int ever_up;
    size_t heap_bytes, data_bytes;
    size_t relro_bytes;          /* constants before data_lo, which peers can read: statics.h */
    uintptr_t dev_lo;            /* this PE's device heap, 0: none yet */
    size_t dev_bytes;
    int dev_private;             /* the host cannot load and store it */
    struct shi_lane *lane;       /* the default context's way over the network; NULL: no PE is far */
    struct shi_heap *heap;       /* where blocks lie in the symmetric heap */
    const struct shi_peer *peer; /* [n_pes], complete even when the fast table is empty */
    struct shi_shm shm;
    struct shi_boot boot;
    struct shi_config config;
};
extern struct shi_world shi_world;

/* A context: what the fast path may reach, and the team its PE numbers count in. */
struct shmem_ctx {
    const struct shi_peer *peer; /* [n_pes] by team PE; all lengths 0 when every access is to take the slow path */
    unsigned n_pes;              /* 0: no operation is allowed */
    long options;
    int batching;                /* in a session that batches */
    struct shmem_team *team;
    struct shi_lane *lane;       /* NULL: no PE is far */
    struct shmem_ctx *next;      /* of the team's other contexts */
};

/* The small handles of shmem.h: 0 is SHMEM_CTX_INVALID, 1 is SHMEM_CTX_DEFAULT. */
extern struct shmem_ctx shi_ctx_small[2];
#define SHI_CTX_DEFAULT (&shi_ctx_small[1])

static inline struct shmem_ctx *shi_ctx_of(shmem_ctx_t handle)
{
    return shi_unlikely((uintptr_t)handle < 2) ? &shi_ctx_small[(uintptr_t)handle] : handle;
}

/* End the job because c, which has no team, is no context. */
_Noreturn void shi_ctx_die(const char *routine, const struct shmem_ctx *c);

/* Bring the library up, which is down. Ends the job, with one line that says why, when it cannot. */
void shi_world_up(int thread_level);

/* Complete and leave; the job's last act together. */
void shi_world_down(const char *routine);

/* The device heap has come up: base is this PE's, mapped[pe] everybody's. From now on host routines reach them, by load
 * and store, or, where the host cannot do that, by copies on the slow path, which all operations then take. */
void shi_world_add_device(void *base, size_t bytes, void *const *mapped, int host_access);

/* Run this process's exit handlers, then end the job with this status, from any PE at any time. */
_Noreturn void shi_world_exit(int status);

/* The calling thread is one of the library's: it may be in routines whatever the program's thread level. */
void shi_allow_thread(void);

/* Die unless the library is up. */
void shi_need_up(const char *routine);

/* What a routine does with a symmetric object. Constant static data can only be read. */
enum shi_use { SHI_WRITE, SHI_READ };

/*
 * The slow half: diagnose what missed the fast table, or translate where it is empty, with SHMEM_CHECK=1 after every
 * check.
 * Returns an address to load from and, unless SHI_READ, to store to; never NULL. `arg` names the argument.
 */
void *shi_miss(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg, const void *addr,
               size_t bytes, int pe);

/* What both begin with: die unless the library is up, the context valid, pe one of its PEs, the thread allowed. */
void shi_check_call(const char *routine, const struct shmem_ctx *ctx, int pe);

/* What they end with: say why the address is no place on PE pe. */
_Noreturn void shi_not_symmetric(const char *routine, enum shi_use use, const char *arg, const void *addr, size_t bytes,
                                 int pe);

/* The same for copies: also device memory that the host cannot load and store. */
void *shi_miss_copy(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg, const void *addr,
                    size_t bytes, int pe);

/* Where loads and stores reach [addr, + bytes) of PE pe of the context's team, or NULL when the table does not say. */
SHI_INLINE void *shi_fast(const struct shmem_ctx *ctx, const void *addr, size_t bytes, int pe)
{
    if (shi_unlikely((unsigned)pe >= ctx->n_pes))
        return NULL;
    const struct shi_peer *p = &ctx->peer[pe];
    uintptr_t a = (uintptr_t)addr, off = a - shi_world.heap_lo;
    if (shi_likely(off < p->heap_bytes && bytes <= p->heap_bytes - off))
        return (void *)(a + p->heap_delta);
    off = a - shi_world.data_lo;
    if (shi_likely(off < p->data_bytes && bytes <= p->data_bytes - off))
        return (void *)(a + p->data_delta);
    return NULL;
}

/* The same, but dies when there is no such place. */
SHI_INLINE void *shi_at(const char *routine, const struct shmem_ctx *ctx, const char *arg, const void *addr,
                        size_t bytes, int pe)
{
    void *at = shi_fast(ctx, addr, bytes, pe);
    return shi_likely(at != NULL) ? at : shi_miss(routine, ctx, SHI_WRITE, arg, addr, bytes, pe);
}

/* Whether contexts get the empty table. */
static inline int shi_all_miss(void)
{
    return shi_world.check || shi_world.watched || shi_world.dev_private;
}

/* The peer's address of [addr, + bytes), or NULL when it is not symmetric or pe is out of reach; never dies. */
void *shi_reach(const struct shi_peer *p, const void *addr, size_t bytes);

/* The same for loads alone: constant static data too, those without addresses even of a far PE. */
const void *shi_reach_read(const struct shi_peer *p, const void *addr, size_t bytes);

#endif
