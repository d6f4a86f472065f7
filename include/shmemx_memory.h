/*
 * shmemx_memory.h - symmetric memory beside the heaps: the program's own, and spaces, which are heaps of a kind made at run time; how a
 * PE's memory is reached. Included by shmemx.h.
 */
#ifndef SHMEMX_MEMORY_H
#define SHMEMX_MEMORY_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Where symmetric memory is. */
enum { SHMEMX_MEMORY_HOST, SHMEMX_MEMORY_DEVICE };

/*
 * A space: a symmetric heap of the PEs of a team, beside the default one. All routines take its addresses, on every PE of the team as
 * target; the device's kernels those of SHMEMX_MEMORY_DEVICE. Of memory of the host flags say more:
 *   SHMEMX_SPACE_HUGE         huge pages, of 2 MiB, all of them at once (Linux 6.1)
 *   SHMEMX_SPACE_NUMA         pages of the NUMA node numa_node, which may differ between the PEs
 *   SHMEMX_SPACE_READ_MOSTLY  pages in turn of all NUMA nodes that this PE may use, for data that many PEs of the node read
 */
typedef struct shmemx_space *shmemx_space_t;
#define SHMEMX_SPACE_INVALID ((shmemx_space_t)0)
#define SHMEMX_SPACE_HUGE 1L
#define SHMEMX_SPACE_NUMA 2L
#define SHMEMX_SPACE_READ_MOSTLY 4L

typedef struct {
    int memory;    /* SHMEMX_MEMORY_HOST or SHMEMX_MEMORY_DEVICE */
    long flags;    /* SHMEMX_SPACE_ values, or 0 */
    size_t size;   /* bytes of each PE */
    int numa_node; /* with SHMEMX_SPACE_NUMA, as the system counts them */
} shmemx_space_config_t;

/* A hint of shmem_malloc_with_hints beside those of OpenSHMEM: huge pages, of 2 MiB, at once. */
#define SHMEMX_MALLOC_HUGE_PAGES 0x10000L

/* How a PE's memory is reached: not at all, by loads and stores, by copies of this PE's device, by the NIC, by messages that the
 * PE's own processor carries out. */
enum { SHMEMX_REACH_NONE, SHMEMX_REACH_LOAD_STORE, SHMEMX_REACH_DEVICE, SHMEMX_REACH_NETWORK, SHMEMX_REACH_MESSAGES };

typedef struct {
    int how;      /* SHMEMX_REACH_, of calls of the host */
    int kernels;  /* of kernels: SHMEMX_REACH_LOAD_STORE, or what the proxy does for them; NONE: memory of the host */
    int memory;   /* SHMEMX_MEMORY_ */
    int distance; /* orders PEs: less is nearer. See the man page */
} shmemx_reach_t;

/*
 * shmemx_symmetric_add is collective: every PE gives as many bytes, at an address of its own; afterwards its addresses there are symmetric
 * for all routines, until shmemx_symmetric_remove, which is collective, or shmem_finalize. Memory keeps address and contents.
 *   SHMEMX_MEMORY_HOST    private memory in whole pages, as mmap or aligned_alloc give it; no thread uses it during the calls
 *   SHMEMX_MEMORY_DEVICE  memory of this PE's device, for kernels, too. With CUDA that of cuMemAlloc, or of cuMemCreate for a file
 *                         descriptor and from where its mapping begins. Not with shmemx_heap_create
 * Both return 0, or the same negative errno on all PEs after a line of one where it failed; 32 memories and spaces at a time.
 *
 * shmemx_local_add names memory of the program on this PE's device that routines called by the host take as a local buffer, which
 * only heaps and the host's memory are otherwise. Not collective; remove takes the address, or NULL for all. 0 or a negative errno.
 *
 * shmemx_space_create is collective over the team: 0 and *space, or the same negative errno on all PEs after a line of one where it
 * failed, and SHMEMX_SPACE_INVALID. The other routines of a space are collective over its team, but for the queries; those that
 * allocate end with a barrier, free and destroy begin with one. get_team stores the space's own team, a duplicate, which ends with it.
 * shmemx_get_space stores the space in which an address is; shmemx_pe_reach describes an address at a PE of the world. 0, or -1 if
 * there is none. Neither communicates.
 */
#define SHMEMX_FOR_EACH_MEMORY(U)                                                                                    \
    U(int, shmemx_symmetric_add, (void *addr, size_t bytes, int memory))                                             \
    U(int, shmemx_symmetric_remove, (void *addr))                                                                    \
    U(int, shmemx_local_add, (void *addr, size_t bytes))                                                             \
    U(int, shmemx_local_remove, (void *addr))                                                                        \
    U(int, shmemx_space_create, (shmem_team_t team, const shmemx_space_config_t *config, shmemx_space_t *space))     \
    U(int, shmemx_space_destroy, (shmemx_space_t space))                                                             \
    U(void *, shmemx_space_malloc, (shmemx_space_t space, size_t size))                                              \
    U(void *, shmemx_space_calloc, (shmemx_space_t space, size_t count, size_t size))                                \
    U(void *, shmemx_space_align, (shmemx_space_t space, size_t alignment, size_t size))                             \
    U(void, shmemx_space_free, (shmemx_space_t space, void *ptr))                                                    \
    U(int, shmemx_space_get_team, (shmemx_space_t space, shmem_team_t *team))                                        \
    U(int, shmemx_space_get_config, (shmemx_space_t space, shmemx_space_config_t *config))                           \
    U(int, shmemx_get_space, (const void *ptr, shmemx_space_t *space))                                               \
    U(int, shmemx_pe_reach, (const void *addr, int pe, shmemx_reach_t *reach))

#define SHMEMX_FN_(R, NAME, PARAMS) R NAME PARAMS; R p##NAME PARAMS;
SHMEMX_FOR_EACH_MEMORY(SHMEMX_FN_)
#undef SHMEMX_FN_

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
