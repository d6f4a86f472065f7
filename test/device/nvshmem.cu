/*
 * nvshmem.cu - a program with NVSHMEM's names, for nvshmem.sh: each family of routines once, by thread, warp and block, on the host and
 * in streams. The first failed check of a kernel stores its line.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>

enum { N = 40, GROUP = 64, ROOM = 4096 };

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(failed++, fprintf(stderr, "nvshmem.cu:%d: PE %d: %s\n", __LINE__, nvshmem_my_pe(), #x)))
#define EXPECT(x) do { if (!(x) && *bad == 0) *bad = __LINE__; } while (0)

/* ---- kernels --------------------------------------------------------------------------------------------------------------------- */

/* data: ROOM ints of which PEs write those of their neighbour; words: zero. */
__global__ void one_thread(int *data, uint64_t *words, int *bad)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    for (int i = 0; i < 2 * N; i++)
        data[i] = me * 1000 + i;
    nvshmem_sync_all();
    nvshmem_int_p(data + 2 * N, me + 5, to);
    nvshmem_int_put(data + 3 * N, data, N, to);
    nvshmem_int_iput(data + 4 * N, data, 2, 1, N / 2, to);
    nvshmem_put32_nbi(data + 5 * N, data + 1, N, to);
    nvshmem_barrier_all();
    EXPECT(data[2 * N] == from + 5 && data[3 * N + N - 1] == from * 1000 + N - 1);
    EXPECT(data[4 * N + 2] == from * 1000 + 1 && data[5 * N] == from * 1000 + 1);
    EXPECT(nvshmem_int_g(data + 7, to) == to * 1000 + 7);
    nvshmem_getmem(data + 6 * N, data, N * sizeof(int), to);
    nvshmem_int_iget(data + 7 * N, data, 1, 2, N / 2, to);
    EXPECT(data[6 * N + 3] == to * 1000 + 3 && data[7 * N + 3] == to * 1000 + 6);
    nvshmem_uint64_atomic_inc(words, to);
    EXPECT(nvshmem_uint64_atomic_fetch_add(words + 1, 7, to) == 0);
    EXPECT(nvshmem_uint64_atomic_compare_swap(words + 2, 0, 9, to) == 0);
    nvshmem_uint64_atomic_or(words + 3, 12, to);
    EXPECT(nvshmem_float_atomic_fetch_add((float *)(words + 4), 1.5f, 0) >= 0);
    nvshmem_double_atomic_add((double *)(words + 5), 0.25, 0);
    nvshmem_int_put_signal(data + 8 * N, data, N, words + 6, 3, NVSHMEM_SIGNAL_ADD, to);
    EXPECT(nvshmem_signal_wait_until(words + 6, NVSHMEM_CMP_GE, 3) == 3 && data[8 * N + 9] == from * 1000 + 9);
    nvshmemx_signal_op(words + 7, 44, NVSHMEM_SIGNAL_SET, to);
    nvshmem_uint64_wait_until(words + 7, NVSHMEM_CMP_EQ, 44);
    nvshmem_short_p((short *)(words + 8) + 1, (short)-3, to);
    nvshmem_short_wait_until((short *)(words + 8) + 1, NVSHMEM_CMP_LT, (short)0);
    EXPECT(nvshmem_short_test((short *)(words + 8) + 1, NVSHMEM_CMP_EQ, (short)-3));
    size_t where[2];
    EXPECT(nvshmem_uint64_wait_until_some(words + 6, 2, where, NULL, NVSHMEM_CMP_NE, 0) == 2 && where[1] == 1);
    EXPECT(nvshmem_uint64_test_any(words + 6, 2, NULL, NVSHMEM_CMP_EQ, 44) == 1);
    int held = 0; /* each operator, with less, the same and more */
    for (int cmp = NVSHMEM_CMP_EQ; cmp <= NVSHMEM_CMP_GE; cmp++)
        for (uint64_t than = 43; than <= 45; than++)
            held = 2 * held + nvshmem_uint64_test(words + 7, cmp, than);
    EXPECT(held == 0b010101100011001110);
    nvshmem_quiet();
    nvshmem_barrier_all();
    EXPECT(words[0] == 1 && words[1] == 7 && words[2] == 9 && words[3] == 12);
    EXPECT(me || (*(float *)(words + 4) == 1.5f * n && *(double *)(words + 5) == 0.25 * n));
}

/* Operations on the own PE, on memory that is not symmetric. */
__global__ void on_itself(int *own, int *bad)
{
    int me = nvshmem_my_pe();
    nvshmem_int_p(own, 7, me);
    cooperative_groups::this_thread_block().sync(); /* of a header that nvshmem.h includes */
    nvshmem_int_put(own + 1, own, 1, me);
    EXPECT(own[0] == 7 && nvshmem_int_g(own + 1, me) == 7 && nvshmem_int_atomic_fetch_add(own + 1, 2, me) == 7 && own[1] == 9);
}

template <typename T> __device__ void fill(T *p, int n, int rank, int step, int me)
{
    for (int i = rank; i < n; i += step)
        p[i] = (T)(float)(me + i % 3 + 1);
}

/* A collective and what follows from it; the next one may change the data of PEs that have not looked. */
#define STEP(S, CALL, SO) EXPECT(nvshmemx_##CALL == 0); EXPECT(SO); nvshmemx_team_sync##S(team)

/* Collectives over a team by the block or by a warp; s and d have room for n blocks of N. */
#define BY_GROUP(S, NAME, SYNC)                                                                                       \
    __global__ void NAME(nvshmem_team_t team, int *d, int *s, half *hd, half *hs, int *bad)                           \
    {                                                                                                                 \
        int me = nvshmem_team_my_pe(team), n = nvshmem_team_n_pes(team), rank = threadIdx.x, step = blockDim.x, sum = 0; \
        fill(s, n * N, rank, step, me);                                                                               \
        fill(hs, N, rank, step, me);                                                                                  \
        for (int i = rank; i < n * N; i += step)                                                                      \
            d[i] = -1;                                                                                                \
        SYNC;                                                                                                         \
        for (int p = 0; p < n; p++)                                                                                   \
            sum += p + 1;                                                                                             \
        EXPECT(nvshmemx_barrier##S(team) == 0);                                                                       \
        STEP(S, int_broadcast##S(team, d, s, N, n - 1), d[1] == n - 1 + 2);                                           \
        STEP(S, int_fcollect##S(team, d, s, N), d[(n - 1) * N] == n && d[N - 1] == (N - 1) % 3 + 1);                  \
        STEP(S, int_alltoall##S(team, d, s, N), d[(n - 1) * N + 3] == n - 1 + (me * N + 3) % 3 + 1);                  \
        STEP(S, int_sum_reduce##S(team, d, s, N), d[0] == sum && d[1] == sum + n);                                    \
        STEP(S, int_max_reduce##S(team, d, s, N), d[2] == n + 2);                                                     \
        STEP(S, half_sum_reduce##S(team, hd, hs, N), (float)hd[0] == sum);                                            \
        STEP(S, int_sum_reducescatter##S(team, d, s, N), d[0] == sum + n * (me * N % 3));                             \
        if (nvshmem_team_translate_pe(team, n - 1, NVSHMEM_TEAM_WORLD) >= 0)                                          \
            nvshmemx_int_put_nbi##S(d + N, s, N, nvshmem_team_translate_pe(team, (me + 1) % n, NVSHMEM_TEAM_WORLD));  \
        nvshmemx_barrier##S(team);                                                                                    \
        EXPECT(d[N + 2] == (me + n - 1) % n + 3);                                                                     \
    }
BY_GROUP(_block, by_block, __syncthreads())
BY_GROUP(_warp, by_warp, __syncwarp())

/* ---- the host ----------------------------------------------------------------------------------------------------------------------- */

static void on_streams(int *d, int *s, uint64_t *words)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n, h[N], sum = 0;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < N; i++)
        h[i] = me * 100 + i;
    cudaMemcpyAsync(s, h, sizeof h, cudaMemcpyDefault, stream);
    nvshmemx_barrier_all_on_stream(stream);
    nvshmemx_int_put_on_stream(d, s, N, to, stream);
    nvshmemx_int_p_on_stream(d + N, me + 9, to, stream);
    nvshmemx_putmem_signal_on_stream(d + 2 * N, s, 8, words + 10, 1, NVSHMEM_SIGNAL_SET, to, stream);
    nvshmemx_signal_wait_until_on_stream(words + 10, NVSHMEM_CMP_EQ, 1, stream);
    nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, stream);
    cudaMemcpyAsync(h, d, sizeof h, cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream);
    CHECK(h[5] == from * 100 + 5);
    cudaMemcpy(h, d + N, sizeof h, cudaMemcpyDefault);
    CHECK(h[0] == from + 9);
    cudaMemcpy(h, d + 2 * N, sizeof h, cudaMemcpyDefault);
    CHECK(h[1] == from * 100 + 1);
    CHECK(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, d, s, N, stream) == 0);
    cudaMemcpyAsync(h, d, sizeof h, cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream);
    for (int p = 0; p < n; p++)
        sum += p * 100 + 7;
    CHECK(h[7] == sum);
    CHECK(nvshmemx_int_fcollect_on_stream(NVSHMEM_TEAM_WORLD, d, s, 2, stream) == 0);
    cudaMemcpyAsync(h, d, sizeof h, cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream);
    CHECK(h[2 * (n - 1) + 1] == (n - 1) * 100 + 1);
    cudaStreamDestroy(stream);
}

static void by_host(int *d, int *s)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n, v = 0, all = 0;
    nvshmem_barrier_all();
    nvshmem_int_p(d, me + 70, to);
    nvshmem_int_atomic_add(s, 0, to);
    nvshmem_quiet();
    nvshmem_barrier_all();
    cudaMemcpy(&v, d, sizeof v, cudaMemcpyDefault);
    CHECK(v == from + 70 && nvshmem_int_g(d, me) == from + 70);
    CHECK(nvshmem_int_max_reduce(NVSHMEM_TEAM_WORLD, s, d, 1) == 0);
    cudaMemcpy(&all, s, sizeof all, cudaMemcpyDefault);
    CHECK(all == n - 1 + 70);
}

/* Memory of the device that is in no heap, of another process. */
static void shared_memory(void)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), *own, *theirs = NULL, value = -1;
    cudaIpcMemHandle_t mine, *sent = (cudaIpcMemHandle_t *)nvshmem_malloc(sizeof mine);
    CHECK(cudaMalloc(&own, sizeof *own) == cudaSuccess && cudaMemcpy(own, &me, sizeof me, cudaMemcpyDefault) == cudaSuccess);
    CHECK(cudaIpcGetMemHandle(&mine, own) == cudaSuccess);
    nvshmem_putmem(sent, &mine, sizeof mine, (me + 1) % n);
    nvshmem_barrier_all();
    cudaMemcpy(&mine, sent, sizeof mine, cudaMemcpyDefault);
    if (n > 1) {
        CHECK(cudaIpcOpenMemHandle((void **)&theirs, mine, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
        cudaMemcpy(&value, theirs, sizeof value, cudaMemcpyDefault);
        CHECK(value == (me + n - 1) % n && cudaIpcCloseMemHandle(theirs) == cudaSuccess);
    }
    nvshmem_barrier_all();
    cudaFree(own);
    nvshmem_free(sent);
}

int main(int argc, char **argv)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (argc > 1) { /* alone, without a launcher's help */
        CHECK(nvshmemx_get_uniqueid(&id) == 0 && nvshmemx_set_attr_uniqueid_args(0, 1, &id, &attr) == 0);
        CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == 0);
    } else {
        nvshmem_init();
    }
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), line = 0, *bad;
    CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE)) == cudaSuccess);
    cudaMalloc(&bad, 4 * sizeof *bad);
    cudaMemset(bad, 0, 4 * sizeof *bad);
    if (argc > 1) /* from now on kernels may communicate, without an allocation */
        nvshmemx_barrier_all_on_stream(0);
    else
        nvshmem_barrier_all();
    on_itself<<<1, 1>>>(bad + 1, bad);
    nvshmem_team_t half_team = NVSHMEM_TEAM_INVALID;
    int size = (n + 1) / 2, member = me % 2 == 0;
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &half_team) == 0);
    CHECK(member == (half_team != NVSHMEM_TEAM_INVALID) && nvshmem_team_my_pe(half_team) == (member ? me / 2 : -1));
    int *d = (int *)nvshmem_malloc(ROOM * sizeof(int)), *s = (int *)nvshmem_malloc(ROOM * sizeof(int));
    half *hd = (half *)nvshmem_malloc(N * sizeof(half)), *hs = (half *)nvshmem_malloc(N * sizeof(half));
    uint64_t *words = (uint64_t *)nvshmem_calloc(16, sizeof *words);
    CHECK(d && s && hd && hs && words && nvshmem_ptr(d, me) != NULL);
    void *args[] = {&d, &words, &bad};
    CHECK(nvshmemx_collective_launch((const void *)one_thread, dim3(1), dim3(1), args, 0, 0) == 0);
    by_block<<<1, GROUP>>>(NVSHMEM_TEAM_WORLD, d, s, hd, hs, bad);
    by_warp<<<1, 32>>>(NVSHMEMX_TEAM_NODE, d, s, hd, hs, bad);
    if (member)
        by_block<<<1, GROUP>>>(half_team, d, s, hd, hs, bad);
    by_warp<<<1, 32>>>(NVSHMEMX_TEAM_SAME_MYPE_NODE, d, s, hd, hs, bad);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cudaMemcpy(&line, bad, sizeof line, cudaMemcpyDefault);
    if (line)
        fprintf(stderr, "nvshmem.cu:%d: PE %d: failed in a kernel\n", line, me), failed++;
    on_streams(d, s, words);
    by_host(d, s);
    shared_memory();
    nvshmem_team_destroy(half_team);
    CHECK(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, d) == NULL && nvshmemx_buffer_register_symmetric(d, 8, 0) == NULL);
    nvshmem_free(d);
    nvshmem_finalize();
    printf("%d failed\n", failed);
    return failed != 0;
}
