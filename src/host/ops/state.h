/*
 * state.h - state that every operation reads: the PEs of the job, the addresses of their memory, contexts.
 *
 * A context's table holds, for each PE that loads and stores can reach, the distance to its heap and to its static data
 * and their lengths. shi_fast moves an address inside one of them by a constant; what it misses is looked up in the table of spaces and
 * added memory (shi_fast_added). Everything else (bad PE, not symmetric, past the end, library not initialised, a PE of another node) misses
 * both; address.h translates or diagnoses it.
 * SHMEM_CHECK=1, SHMEM_STATS, SHMEM_TRACE and ThreadSanitizer in the program empty the table, so that every operation takes the slow
 * path, which alone checks and counts.
 */
#ifndef SHI_OPS_STATE_H
#define SHI_OPS_STATE_H

#include <shmem.h>
#include <sys/types.h>

#include "host/boot/boot.h"
#include "host/net/node/net_shm.h"
#include "host/util/base.h"
#include "host/util/config.h"
#include "host/util/tsan.h"

/* One reachable PE. Lengths 0: not reachable by load and store. */
struct shi_peer {
    ptrdiff_t heap_delta, data_delta; /* add to an own symmetric address to get the peer's */
    size_t heap_bytes, data_bytes;
    ptrdiff_t dev_delta; /* the same for the device heap, which the fast path does not read */
    size_t dev_bytes;
    int pe;              /* world number */
    int rank;            /* of the node's PEs; -1: not reachable */
    short remote;         /* only the network reaches it: remote.h */
    short same_program;  /* its static data has the same layout as ours */
} __attribute__((aligned(SHI_LINE_BYTES)));

/* Constants between init and finalize, except heap_reach, which host/init sets. The first line is what the data path reads. */
struct shi_world {
    uintptr_t heap_lo, data_lo;
    int pe, n_pes;
    int up;                      /* between shmem_init and shmem_finalize */
    int check;                   /* SHMEM_CHECK */
    int spans;                   /* SHMEM_CHECK, SHMEM_STATS, SHMEM_TRACE or ThreadSanitizer: span.h begins and ends every call */
    int watched;                 /* SHMEM_STATS or SHMEM_TRACE: and counts it */
    int thread_level;
    int threads;                 /* several threads may be in the library: set at init for SHMEM_THREAD_MULTIPLE, and
                                    when the library starts a thread that runs functions of the program */
    int ever_up;                 /* in this job */
    int net_up;                  /* the network is; it stays after shmem_finalize, as the memory does */
    int launcher_left;           /* this PE has left the launcher, in its first shmem_finalize */
    size_t heap_bytes, data_bytes;
    size_t poisoned_bytes;       /* of the heap, from its start, where no block is or was aligned (api/mem.c); stays over shmem_finalize */
    size_t heap_reach;           /* bytes at the heap's start that the network can access; shmem_malloc raises it */
    size_t relro_bytes;          /* constants before data_lo, which peers can read: statics.h */
    uintptr_t dev_lo;            /* this PE's device heap, 0: none yet */
    size_t dev_bytes;
    int dev_private;             /* the host cannot load and store it */
    pid_t pid;                   /* of the process that joined the job, 0 before and between two jobs; a forked child has another */
    struct shi_lane *lane;       /* the default context's lane on the network; NULL: no PE is remote */
    struct shi_lane *proxy_lane; /* of kernels' requests, made with the first one and kept: proxy/remote.c */
    struct shi_heap *heap;       /* the allocator of the symmetric heap */
    const struct shi_peer *peer; /* [n_pes], complete even when the fast table is empty */
    struct shi_shm shm;
    struct shi_boot boot;
    struct shi_config config;
};
extern struct shi_world shi_world;

/* A context: what the fast path may reach, and the team its PE numbers count in. */
struct shmem_ctx {
    const struct shi_peer *peer;  /* [n_pes] by team PE; all lengths 0 when every access is to take the slow path */
    unsigned n_pes;               /* 0: no operation is allowed */
    int batching;                 /* in a session that batches */
    const struct shi_peer *peers; /* [n_pes] by team PE, complete */
    long options, creator;        /* creator: the thread that alone may use it (SHMEM_CHECK=1); 0: any */
    struct shmem_team *team;      /* NULL: not a context, or a destroyed one */
    struct shi_lane *lane;        /* NULL: no PE is remote */
    unsigned dropped;             /* of the lane's operations, those of which the program knows (shmemx_ctx_status) */
    struct shmem_ctx **list, *next; /* head of the team's list of contexts, and its next one */
};

/* The small handles of shmem.h: 0 is SHMEM_CTX_INVALID, 1 is SHMEM_CTX_DEFAULT. */
extern struct shmem_ctx shi_ctx_small[2];
#define SHI_CTX_DEFAULT (&shi_ctx_small[1])

static inline struct shmem_ctx *shi_ctx_of(shmem_ctx_t handle)
{
    return shi_unlikely((uintptr_t)handle < 2) ? &shi_ctx_small[(uintptr_t)handle] : handle;
}

/* The address at which loads and stores reach [addr, + bytes) of PE pe of the context's team, or NULL: see address.h. */
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

/* shi_fast, and behind it spaces and added memory of PEs of the fast table: the first look of functions that shi_fast sends on, which are out
 * of line, as a call in it would cost the usual case registers. */
void *shi_fast_added(const struct shmem_ctx *ctx, const void *addr, size_t bytes, int pe);

/* The same of a word of width bytes; NULL also if it is not aligned to its width: no update of such a word is atomic. */
SHI_INLINE void *shi_fast_word(const struct shmem_ctx *ctx, const void *addr, size_t width, int pe)
{
    return shi_unlikely((uintptr_t)addr & (width - 1)) ? NULL : shi_fast(ctx, addr, width, pe);
}

/* 1: contexts get the empty table. */
static inline int shi_all_slow(void)
{
    return shi_world.check || shi_world.watched || shi_world.dev_private || SHI_TSAN_IS_HERE;
}

/* Die unless the library is up. */
void shi_need_up(const char *routine);

/* 1: the calling process was forked from the one that joined the job, and is not a PE. */
int shi_is_forked(void);

/* The calling thread initialises the library: below SHMEM_THREAD_SERIALIZED it alone may call it. */
void shi_set_main_thread(void);

/* The calling thread is one of the library's: it may call routines at any thread level. */
void shi_allow_thread(void);

/* 1: the calling thread is one of these. */
int shi_is_main_thread(void);
int shi_is_library_thread(void);

/* The kernel's number of the calling thread. */
long shi_thread_id(void);

#endif
