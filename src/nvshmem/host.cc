/*
 * host.cc - NVSHMEM's calls of the host that are no plain names of Fulmar's: start, teams by number, memory of the device that
 * the program has chosen, launches, modules. oshcc compiles it with the program's toolkit.
 */
#include <nvshmemx.h>

#include <cuda.h>
#include <sys/random.h>

enum { TEAMS = 512 };

static shmem_team_t same, own[TEAMS]; /* by index */
static int status, has_heap;

/* For nvshmemx_team_init, by PE: the id of the team that it makes, or 0, and its number there; and for shmemx_team_create. */
static struct {
    uint64_t *id, *number;
    long *psync;
} seats;

extern "C" {
int rt_is_cpu(void); /* of src/cudart */

/* ---- start and end ------------------------------------------------------------------------------------------------------------- */

/* The teams that kernels find by their index. The one of the same PE of each node: where nodes have as many PEs. */
static int make_teams(void)
{
    shmem_team_t x = SHMEM_TEAM_INVALID;
    int on_node = shmem_team_n_pes(SHMEM_TEAM_SHARED), most = on_node;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        most = pe % on_node == 0 && shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) > 0 ? 0 : most;
    if (!most || shmem_n_pes() % on_node || shmem_team_split_2d(SHMEM_TEAM_WORLD, on_node, NULL, 0, &x, NULL, 0, &same))
        return 0;
    if (shmemx_cuda_team_index(same) != FULMAR_SAME_INDEX) { /* the axes are the first teams of the job */
        fprintf(stderr, "nvshmem_init: this build of nvshmem does not belong to this libfulmar.so\n");
        return NVSHMEMX_ERROR_INTERNAL;
    }
    shmem_team_destroy(x);
    return 0;
}

static int make_seats(void)
{
    size_t n = (size_t)shmem_n_pes();
    seats.id = (uint64_t *)shmem_calloc(3 * n, sizeof(uint64_t));
    if (!seats.id)
        return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    seats.number = seats.id + n;
    seats.psync = (long *)(seats.number + n);
    for (size_t i = 0; i < n; i++)
        seats.psync[i] = SHMEM_SYNC_VALUE;
    shmem_sync_all();
    return 0;
}

static int started(void)
{
    char n[16];
    snprintf(n, sizeof n, "%d", shmem_team_n_pes(SHMEM_TEAM_SHARED));
    setenv("ZE_CPU_DEVICES", n, 0); /* libcuda_cpu.so: programs give each PE of a node a device of its own */
    status = NVSHMEM_STATUS_IS_BOOTSTRAPPED;
    int err = make_seats();
    return err ? err : make_teams();
}

/* Before Fulmar reads its variables. NVSHMEM's size is what the program can allocate: the library's words come in addition. */
static void take_size(void)
{
    enum { MORE = 16 << 20 };
    const char *units = "kmgt", *size = getenv("NVSHMEM_SYMMETRIC_SIZE"), *unit;
    char *end, text[32];
    double bytes = size ? strtod(size, &end) : 0;
    if (bytes <= 0)
        return;
    unit = *end ? strchr(units, *end | 0x20) : NULL;
    for (; unit && unit >= units; unit--)
        bytes *= 1024;
    snprintf(text, sizeof text, "%.0f", bytes + MORE);
    setenv("SHMEM_DEVICE_SYMMETRIC_SIZE", text, 0);
}

int nvshmem_init_thread(int requested, int *provided)
{
    take_size();
    int err = shmem_init_thread(requested, provided);
    return err ? NVSHMEMX_ERROR_INTERNAL : started();
}

/* The processes of MPI's world are the PEs, as the launcher has started them. */
int nvshmemx_init_attr(unsigned flags, nvshmemx_init_attr_t *a)
{
    int provided;
    shmemx_uniqueid_t id;
    shmemx_init_attr_t attr;
    if (!(flags & NVSHMEMX_INIT_WITH_UNIQUEID))
        return nvshmem_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided);
    if (!a || !a->args.uid_args.id)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    take_size();
    memcpy(&id, a->args.uid_args.id, sizeof id);
    if (shmemx_set_attr_uniqueid_args(a->args.uid_args.myrank, a->args.uid_args.nranks, &id, &attr) ||
        shmemx_init_thread_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr, SHMEM_THREAD_SERIALIZED, &provided))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    return started();
}

int nvshmemx_hostlib_init_attr(unsigned flags, nvshmemx_init_attr_t *attributes)
{
    return nvshmemx_init_attr(flags, attributes);
}

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid)
{
    static_assert(sizeof(nvshmemx_uniqueid_t) == sizeof(shmemx_uniqueid_t), "an id of Fulmar is one of NVSHMEM");
    return shmemx_get_uniqueid((shmemx_uniqueid_t *)uniqueid) ? NVSHMEMX_ERROR_INTERNAL : 0;
}

int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks, const nvshmemx_uniqueid_t *uniqueid, nvshmemx_init_attr_t *attr)
{
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)uniqueid;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return myrank < 0 || myrank >= nranks ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr)
{
    attr->mpi_comm = mpi_comm;
    return 0;
}

int nvshmemx_init_status(void)
{
    return status;
}

void nvshmem_query_thread(int *provided)
{
    shmem_query_thread(provided);
}

void nvshmem_finalize(void)
{
    cudaDeviceSynchronize();
    nvshmemx_buffer_unregister_all();
    shmem_free(seats.id);
    shmem_finalize();
    status = has_heap = 0;
    same = SHMEM_TEAM_INVALID;
    memset(own, 0, sizeof own);
}

void nvshmemx_hostlib_finalize(void)
{
    nvshmem_finalize();
}

/* ---- teams --------------------------------------------------------------------------------------------------------------------- */

shmem_team_t fulmar_nvshmem_team(nvshmem_team_t team)
{
    return team == NVSHMEM_TEAM_WORLD                                ? SHMEM_TEAM_WORLD
           : team == NVSHMEM_TEAM_SHARED || team == NVSHMEMX_TEAM_NODE ? SHMEM_TEAM_SHARED
           : team == NVSHMEMX_TEAM_SAME_MYPE_NODE                    ? same
           : team >= NVSHMEM_TEAMS_MIN && team < FULMAR_TEAM_FIRST + TEAMS       ? own[team - FULMAR_TEAM_FIRST]
                                                                     : SHMEM_TEAM_INVALID;
}

/* The number of a new team; kernels can use it from now on, or when the device heap comes up. */
static nvshmem_team_t number_of(shmem_team_t team)
{
    int index = team == SHMEM_TEAM_INVALID ? -1 : shmemx_cuda_team_index(team);
    if (index < 2)
        return NVSHMEM_TEAM_INVALID;
    own[index] = team;
    if (has_heap)
        shmemx_device_team(team);
    return FULMAR_TEAM_FIRST + index;
}

int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size, const nvshmem_team_config_t *, long, nvshmem_team_t *out)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    int err = shmem_team_split_strided(fulmar_nvshmem_team(parent), start, stride, size, NULL, 0, &team);
    *out = number_of(team);
    return err ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

int nvshmem_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t *, long, nvshmem_team_t *x, const nvshmem_team_config_t *,
                          long, nvshmem_team_t *y)
{
    shmem_team_t tx = SHMEM_TEAM_INVALID, ty = SHMEM_TEAM_INVALID;
    int err = shmem_team_split_2d(fulmar_nvshmem_team(parent), xrange, NULL, 0, &tx, NULL, 0, &ty);
    *x = number_of(tx);
    *y = number_of(ty);
    return err ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid)
{
    do
        if (getrandom(uniqueid, sizeof *uniqueid, 0) != sizeof *uniqueid)
            return NVSHMEMX_ERROR_INTERNAL;
    while (*uniqueid == 0 || *uniqueid == NVSHMEM_TEAM_UNIQUID_INITIALIZER);
    return 0;
}

/* Members know neither each other nor which PEs are none: each tells all PEs. */
static void take_seat(uint64_t id, int number, const int *pes, int n)
{
    int *member = (int *)calloc((size_t)shmem_n_pes(), sizeof *member);
    for (int i = 0; i < n && member; i++)
        member[pes[i]] = 1;
    for (int pe = 0; pe < shmem_n_pes() && member; pe++)
        if (!member[pe])
            shmem_uint64_p(&seats.number[shmem_my_pe()], (uint64_t)number, pe);
    shmem_fence();
    for (int pe = 0; pe < shmem_n_pes() && member; pe++)
        if (!member[pe])
            shmem_uint64_atomic_set(&seats.id[shmem_my_pe()], id, pe);
    free(member);
}

/* Wait for the n PEs with the id; pes[number] is one's number in the world. A seat is empty again before its PE can take another, which it does
 * after the team is made. */
static int find_members(uint64_t id, int *pes, int n)
{
    int world = shmem_n_pes(), left = n, good = 1, *seen = (int *)calloc((size_t)world, sizeof *seen);
    size_t *at = (size_t *)calloc((size_t)world, sizeof *at);
    for (int i = 0; i < n; i++)
        pes[i] = -1;
    while (seen && at && left > 0) {
        size_t found = shmem_uint64_wait_until_some(seats.id, (size_t)world, at, seen, SHMEM_CMP_EQ, id);
        for (size_t k = 0; k < found; k++) {
            uint64_t number = seats.number[at[k]];
            good &= number < (uint64_t)n && pes[number] < 0;
            pes[good ? number : 0] = (int)at[k];
            seen[at[k]] = 1;
            shmem_uint64_atomic_set(&seats.id[at[k]], 0, shmem_my_pe());
        }
        left -= (int)found;
    }
    good &= seen && at;
    free(seen);
    free(at);
    return good;
}

int nvshmemx_team_init(nvshmem_team_t *out, nvshmem_team_config_t *config, long, int npes, int pe_idx_in_team)
{
    *out = NVSHMEM_TEAM_INVALID;
    if (!config || config->uniqueid == 0 || config->uniqueid == NVSHMEM_TEAM_UNIQUID_INITIALIZER || npes < 1 || npes > shmem_n_pes() ||
        pe_idx_in_team < 0 || pe_idx_in_team >= npes)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    int *pes = (int *)malloc((size_t)npes * sizeof *pes), err = -1;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    take_seat(config->uniqueid, pe_idx_in_team, NULL, 0);
    if (pes && find_members(config->uniqueid, pes, npes))
        err = shmemx_team_create(pes, npes, seats.psync, NULL, 0, &team);
    if (!err)
        take_seat(0, 0, pes, npes); /* those that are no members */
    free(pes);
    *out = number_of(team);
    return err ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

void nvshmem_team_destroy(nvshmem_team_t team)
{
    if (team < NVSHMEM_TEAMS_MIN)
        return;
    shmem_team_destroy(fulmar_nvshmem_team(team));
    own[team - FULMAR_TEAM_FIRST] = SHMEM_TEAM_INVALID;
}

void nvshmem_team_get_config(nvshmem_team_t, nvshmem_team_config_t *config)
{
    *config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    config->num_contexts = 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------- */

/* The first allocation takes the device that is the program's now. */
static void need_device(void)
{
    int device;
    if (!has_heap && cudaGetDevice(&device) == cudaSuccess && shmemx_cuda_session(device) == 0)
        shmemx_cuda_use(device);
}

static void *got(void *p)
{
    if (p && !has_heap) {
        has_heap = 1;
        status = NVSHMEM_STATUS_IS_INITIALIZED;
        shmemx_device_team(SHMEM_TEAM_WORLD);
        if (same != SHMEM_TEAM_INVALID)
            shmemx_device_team(same);
        for (int i = 0; i < TEAMS; i++)
            if (own[i] != SHMEM_TEAM_INVALID)
                shmemx_device_team(own[i]);
    }
    return p;
}

void *nvshmem_malloc(size_t size)
{
    need_device();
    return got(shmemg_malloc(size));
}

void *nvshmem_calloc(size_t count, size_t size)
{
    need_device();
    return got(shmemg_calloc(count, size));
}

void *nvshmem_align(size_t alignment, size_t size)
{
    need_device();
    return got(shmemg_align(alignment, size));
}

void nvshmem_free(void *ptr)
{
    if (ptr)
        fulmar_nvshmem_complete();
    shmemg_free(ptr);
}

/* NVSHMEM's start ends with the first call that needs the device; kernels may communicate from then on. */
void fulmar_nvshmem_begin(void)
{
    if (!has_heap)
        nvshmem_free(nvshmem_malloc(1));
}

/* Local buffers: kernels use any memory of the device; calls of the host take the host's without registration, and the device's with it. */
static struct buffer {
    char *at;
    size_t bytes;
    bool local; /* told to Fulmar */
    struct buffer *next;
} *buffers;

static struct buffer **find(const void *addr)
{
    struct buffer **b = &buffers;
    while (*b && ((char *)addr < (*b)->at || (char *)addr >= (*b)->at + (*b)->bytes))
        b = &(*b)->next;
    return b;
}

int nvshmemx_buffer_register(void *addr, size_t length)
{
    cudaPointerAttributes a;
    if (!addr || !length || *find(addr) || *find((char *)addr + length - 1)) {
        fprintf(stderr, "nvshmemx_buffer_register: addr = %p, length = %zu: no memory, or memory that is registered\n", addr, length);
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    bool local = cudaPointerGetAttributes(&a, addr) == cudaSuccess && a.type == cudaMemoryTypeDevice;
    if (local && shmemx_local_add(addr, length))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    buffers = new buffer{(char *)addr, length, local, buffers};
    return 0;
}

static void forget(struct buffer **at)
{
    struct buffer *b = *at;
    if (b->local)
        shmemx_local_remove(b->at);
    *at = b->next;
    delete b;
}

int nvshmemx_buffer_unregister(void *addr)
{
    struct buffer **b = find(addr);
    if (!*b || (*b)->at != addr) {
        fprintf(stderr, "nvshmemx_buffer_unregister: addr = %p is not registered\n", addr);
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    forget(b);
    return 0;
}

void nvshmemx_buffer_unregister_all(void)
{
    while (buffers)
        forget(&buffers);
}

/* Memory keeps its address, which is the symmetric one. */
void *nvshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int)
{
    fulmar_nvshmem_begin();
    int err = shmemx_symmetric_add(buf_ptr, size, SHMEMX_MEMORY_DEVICE);
    return err ? NULL : buf_ptr;
}

int nvshmemx_buffer_unregister_symmetric(void *mmap_ptr, size_t)
{
    fulmar_nvshmem_complete();
    return shmemx_symmetric_remove(mmap_ptr) ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

/* ---- kernels -------------------------------------------------------------------------------------------------------------------- */

void fulmar_nvshmem_complete(void)
{
    if (has_heap)
        shmemx_device_sync();
}

int nvshmemx_cumodule_init(struct CUmod_st *module)
{
    fulmar_nvshmem_begin(); /* collective, as this call is */
    int err = shmemx_cuda_module_enter(module);
    return err ? NVSHMEMX_ERROR_INTERNAL : 0;
}

int nvshmemx_cumodule_finalize(struct CUmod_st *module)
{
    return shmemx_cuda_module_leave(module) ? NVSHMEMX_ERROR_INVALID_VALUE : 0;
}

#if CUDA_VERSION >= 12000
int nvshmemx_culibrary_init(struct CUlib_st *library)
{
    CUmodule module;
    return cuLibraryGetModule(&module, library) ? NVSHMEMX_ERROR_INVALID_VALUE : nvshmemx_cumodule_init(module);
}

int nvshmemx_culibrary_finalize(struct CUlib_st *library)
{
    CUmodule module;
    return cuLibraryGetModule(&module, library) ? NVSHMEMX_ERROR_INVALID_VALUE : nvshmemx_cumodule_finalize(module);
}
#endif

/* As NVSHMEM's, the program frees the array. */
int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **out_qp_array)
{
    if (num_qps < 0 || !out_qp_array)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *out_qp_array = (nvshmemx_qp_handle_t *)calloc((size_t)num_qps + 1, sizeof **out_qp_array);
    for (int i = 0; i < num_qps && *out_qp_array; i++)
        (*out_qp_array)[i] = NVSHMEMX_QP_DEFAULT;
    return *out_qp_array ? 0 : NVSHMEMX_ERROR_OUT_OF_MEMORY;
}

int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 block, void **, size_t shared, int *gridsize)
{
    enum { LIKE_GPU = 132 }; /* libcuda_cpu.so starts a group that others wait for: programs that ask get as many as on a GPU */
    int each = 0, processors = 0, device = 0;
    if (cudaGetDevice(&device) || cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, func, (int)(block.x * block.y * block.z), shared))
        return NVSHMEMX_ERROR_INTERNAL;
    if (rt_is_cpu() && processors < LIKE_GPU)
        processors = LIKE_GPU;
    *gridsize = each * processors;
    return 0;
}

/* A grid of 0: as many blocks as fit. */
int nvshmemx_collective_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    int most = 1;
    if (!grid.x && !grid.y && !grid.z) {
        if (nvshmemx_collective_launch_query_gridsize(func, block, args, shared, &most))
            return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
        grid = dim3((unsigned)most);
    }
    return cudaLaunchCooperativeKernel(func, grid, block, args, shared, stream) ? NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED : 0;
}
}
