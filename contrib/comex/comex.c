/* comex.c - start and end, memory, and the addresses of other processes. */
#if HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comex_impl.h"

#include <shmem.h>
#include <shmemx.h>

/* What the symmetric heap has for the library's and this port's own use beside the arena. */
#define HEAP_RESERVE ((size_t)64 << 20)

struct comex_state l_state;
static int initialized, owns_shmem;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void comex_die(const char *where, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "comex: process %d: %s: %s\n", l_state.rank, where, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void comex_error(const char *msg, int code)
{
    fprintf(stderr, "comex: process %d: %s (%d)\n", l_state.rank, msg, code);
    MPI_Abort(l_state.world_comm, code ? code : 1);
}

void comex_enter(void)
{
    if (l_state.threads)
        pthread_mutex_lock(&lock);
}

void comex_leave(void)
{
    if (l_state.threads)
        pthread_mutex_unlock(&lock);
}

/* ---- start and end -------------------------------------------------------------------------------------------------- */

/* COMEX_HEAP=SIZE[KMGT], or a half of the host's memory for all its processes; the same at all. Only pages that are used take memory. */
static size_t arena_size(void)
{
    const char *text = getenv("COMEX_HEAP");
    unsigned long long bytes;
    char *end = "";
    if (text) {
        errno = 0;
        bytes = strtoull(text, &end, 10);
        const char *units = "KMGT", *unit = *end ? strchr(units, *end & ~0x20) : NULL;
        if (errno || end == text || (*end && (!unit || end[1])) || *text == '-')
            COMEX_DIE("COMEX_HEAP=%s: expected a number of bytes, with K, M, G or T behind it or nothing", text);
        bytes <<= unit ? 10 * (unit - units + 1) : 0;
    } else {
        MPI_Comm host;
        int n;
        MPI_Comm_split_type(l_state.world_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
        MPI_Comm_size(host, &n);
        MPI_Comm_free(&host);
        bytes = (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE) / 2 / (unsigned)n;
    }
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, l_state.world_comm);
    return (size_t)bytes / 4096 * 4096;
}

static void start_shmem(void)
{
    static const int levels[][2] = {{MPI_THREAD_SINGLE, SHMEM_THREAD_SINGLE}, {MPI_THREAD_FUNNELED, SHMEM_THREAD_FUNNELED},
                                    {MPI_THREAD_SERIALIZED, SHMEM_THREAD_SERIALIZED}, {MPI_THREAD_MULTIPLE, SHMEM_THREAD_MULTIPLE}};
    int of_mpi, wanted = SHMEM_THREAD_SINGLE, provided;
    MPI_Query_thread(&of_mpi);
    MPI_Allreduce(MPI_IN_PLACE, &of_mpi, 1, MPI_INT, MPI_MIN, l_state.world_comm);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (of_mpi >= levels[i][0])
            wanted = levels[i][1];
    l_state.threads = wanted == SHMEM_THREAD_MULTIPLE;
    shmem_query_initialized(&provided);
    if (provided) {
        if (shmem_my_pe() != l_state.rank || shmem_n_pes() != l_state.size)
            COMEX_DIE("the program has called shmem_init, with other numbers of the PEs than the communicator's ranks");
        return;
    }
    char heap[32];
    snprintf(heap, sizeof heap, "%zu", l_state.arena_bytes + HEAP_RESERVE);
    setenv("SHMEM_SYMMETRIC_SIZE", heap, 0);
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    attr.mpi_comm = &l_state.world_comm;
    if (shmemx_init_thread_attr(SHMEMX_INIT_WITH_MPI_COMM, &attr, wanted, &provided) || provided < wanted)
        COMEX_DIE("OpenSHMEM does not start");
    owns_shmem = 1;
}

/* Where this process reaches the arenas. */
static void meet(void)
{
    size_t n = (size_t)l_state.size;
    l_state.base = malloc(n * sizeof *l_state.base);
    l_state.near = malloc(n * sizeof *l_state.near);
    l_state.pending = calloc(n, 1);
    if (!l_state.base || !l_state.near || !l_state.pending)
        COMEX_DIE("out of memory");
    MPI_Allgather(&l_state.arena, sizeof l_state.arena, MPI_BYTE, l_state.base, sizeof l_state.arena, MPI_BYTE, l_state.world_comm);
    for (int pe = 0; pe < l_state.size; pe++)
        l_state.near[pe] = shmem_ptr(l_state.arena, pe);
}

int comex_init_comm(MPI_Comm comm)
{
    int is;
    if (initialized)
        return COMEX_SUCCESS;
    MPI_Initialized(&is);
    if (!is)
        COMEX_DIE("MPI_Init comes first");
    MPI_Comm_dup(comm, &l_state.world_comm);
    MPI_Comm_rank(l_state.world_comm, &l_state.rank);
    MPI_Comm_size(l_state.world_comm, &l_state.size);
    l_state.arena_bytes = arena_size();
    start_shmem();
    l_state.arena = shmem_align(4096, l_state.arena_bytes);
    if (!l_state.arena)
        COMEX_DIE("the symmetric heap has no %zu bytes: a greater SHMEM_SYMMETRIC_SIZE (or none), or a smaller COMEX_HEAP", l_state.arena_bytes);
    l_state.never = shmem_calloc(1, sizeof *l_state.never);
    comex_arena_init(l_state.arena, l_state.arena_bytes);
    meet();
    comex_group_init();
    comex_acc_init();
    shmem_barrier_all();
    initialized = 1;
    return COMEX_SUCCESS;
}

int comex_init(void)
{
    return comex_init_comm(MPI_COMM_WORLD);
}

int comex_init_args(int *argc, char ***argv)
{
    int is;
    MPI_Initialized(&is);
    if (!is)
        MPI_Init(argc, argv);
    return comex_init();
}

int comex_initialized(void)
{
    return initialized;
}

int comex_finalize(void)
{
    if (!initialized)
        return COMEX_SUCCESS;
    comex_barrier(COMEX_GROUP_WORLD);
    comex_group_finalize();
    if (owns_shmem)
        shmem_finalize();
    else
        shmem_free(l_state.arena);
    free(l_state.base);
    free(l_state.near);
    free(l_state.pending);
    MPI_Comm_free(&l_state.world_comm);
    initialized = owns_shmem = 0;
    return COMEX_SUCCESS;
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

/* Symmetric memory, too: the library transfers from it without a copy on all networks. */
void *comex_malloc_local(size_t bytes)
{
    comex_enter();
    comex_acc_flush();
    void *at = comex_arena_alloc(bytes);
    comex_leave();
    if (!at && bytes)
        COMEX_DIE("%zu bytes: the arena of %zu bytes has no space (COMEX_HEAP)", bytes, l_state.arena_bytes);
    return at;
}

int comex_free_local(void *at)
{
    comex_enter();
    comex_arena_free(at);
    comex_leave();
    return COMEX_SUCCESS;
}

int comex_malloc(void **ptrs, size_t bytes, comex_group_t group)
{
    MPI_Comm comm;
    comex_group_comm(group, &comm);
    void *own = comex_malloc_local(bytes);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, ptrs, sizeof own, MPI_BYTE, comm);
    return COMEX_SUCCESS;
}

int comex_malloc_mem_dev(void **ptrs, size_t bytes, comex_group_t group, const char *device)
{
    (void)device;
    return comex_malloc(ptrs, bytes, group);
}

int comex_free(void *ptr, comex_group_t group)
{
    comex_barrier(group);
    return comex_free_local(ptr);
}

int comex_free_dev(void *ptr, comex_group_t group)
{
    return comex_free(ptr, group);
}

/* ---- addresses ------------------------------------------------------------------------------------------------------ */

static size_t offset(const void *remote, size_t bytes, int proc)
{
    size_t at = (uintptr_t)remote - (uintptr_t)l_state.base[proc];
    if ((uintptr_t)remote < (uintptr_t)l_state.base[proc] || at > l_state.arena_bytes || bytes > l_state.arena_bytes - at)
        COMEX_DIE("%p of process %d, %zu bytes, is not of comex_malloc", remote, proc, bytes);
    return at;
}

void *comex_near(const void *remote, size_t bytes, int proc)
{
    return l_state.near[proc] ? l_state.near[proc] + offset(remote, bytes, proc) : NULL;
}

void *comex_symmetric(const void *remote, size_t bytes, int proc)
{
    return l_state.arena + offset(remote, bytes, proc);
}
