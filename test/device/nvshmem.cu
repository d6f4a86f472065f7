/*
 * nvshmem.cu - a program with NVSHMEM's names, for nvshmem.sh: each family of routines once, by thread, warp and block, on the host and
 * in streams. The first failed check of a kernel stores its line.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>

enum { N = 40, GROUP = 64, ROOM = 4096, UPDATES = 200, GRAIN = 2 << 20 };

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
    nvshmem_sync_all();
    for (int i = 0; i < UPDATES; i++) /* of all PEs: none is lost, by whichever way they come */
        nvshmem_double_atomic_add((double *)(words + 5), 0.25, 0);
    nvshmem_int_put_signal(data + 8 * N, data, N, words + 6, 3, NVSHMEM_SIGNAL_ADD, to);
    EXPECT(nvshmem_signal_wait_until(words + 6, NVSHMEM_CMP_GE, 3) == 3 && data[8 * N + 9] == from * 1000 + 9);
    nvshmemx_signal_op(words + 7, 44, NVSHMEM_SIGNAL_SET, to);
    nvshmem_uint64_wait_until(words + 7, NVSHMEM_CMP_EQ, 44);
    nvshmem_short_p((short *)(words + 8) + 1, (short)-3, to);
    nvshmem_short_wait_until((short *)(words + 8) + 1, NVSHMEM_CMP_LT, (short)0);
    EXPECT(nvshmem_short_test((short *)(words + 8) + 1, NVSHMEM_CMP_EQ, (short)-3));
    size_t where[2];
    short two[2] = {-3, 0};
    EXPECT(nvshmem_short_test_all((short *)(words + 8) + 1, 1, NULL, NVSHMEM_CMP_LE, (short)-3));
    EXPECT(nvshmem_short_wait_until_any((short *)(words + 8), 2, NULL, NVSHMEM_CMP_LT, (short)0) == 1);
    EXPECT(nvshmem_short_test_some_vector((short *)(words + 8), 2, where, NULL, NVSHMEM_CMP_GE, two) == 1 && where[0] == 0);
    EXPECT(nvshmem_ushort_test((unsigned short *)(words + 8) + 1, NVSHMEM_CMP_GT, (unsigned short)65532));
    EXPECT(!nvshmem_ushort_test((unsigned short *)(words + 8) + 1, NVSHMEM_CMP_GT, (unsigned short)65533));
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
    EXPECT(me || (*(float *)(words + 4) == 1.5f * n && *(double *)(words + 5) == 0.25 * UPDATES * n));
}

/* Catches: a routine with a queue pair that is another one, or does not take the group; a signal without its data. words: zero. */
__global__ void by_queue_pair(int *data, uint64_t *words, const nvshmemx_qp_handle_t *qps, int *bad)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n, rank = threadIdx.x;
    nvshmemx_qp_handle_t pair[2] = {qps[0], qps[1]};
    for (int i = rank; i < 2 * N; i += blockDim.x)
        data[i] = me * 1000 + i;
    __syncthreads();
    nvshmemx_barrier_all_block();
    nvshmemx_qp_int_put_block(data + 2 * N, data, N, to, pair[0]);
    nvshmemx_qp_int_put_nbi_block(data + 3 * N, data + 1, N, to, pair[1]);
    nvshmemx_qp_quiet_block(to, pair, 2);
    if (rank < 32)
        nvshmemx_qp_int_get_warp(data + 4 * N, data + 2, N, to, pair[1]);
    __syncthreads();
    nvshmemx_qp_int_put_signal_nbi_block(data + 5 * N, data + 3, N, words, 5, NVSHMEM_SIGNAL_ADD, to, pair[0]);
    nvshmemx_put6_signal_block(data + 5 * N, data, N, words + 1, 6, NVSHMEM_SIGNAL_ADD, to);
    if (rank == 0) {
        nvshmemx_qp_int_p(data + 6 * N, me + 7, to, pair[0]);
        nvshmemx_qp_fence(to, pair, 1);
        nvshmemx_qp_signal_op(words + 2, 8, NVSHMEM_SIGNAL_SET, to, pair[0]);
        nvshmem_uint64_wait_until(words + 2, NVSHMEM_CMP_EQ, 8);
        EXPECT(data[6 * N] == from + 7 && nvshmemx_qp_int_g(data + 1, to, NVSHMEMX_QP_DEFAULT) == to * 1000 + 1);
        nvshmem_uint64_wait_until(words, NVSHMEM_CMP_EQ, 5);
        nvshmem_uint64_wait_until(words + 1, NVSHMEM_CMP_EQ, 6);
        EXPECT(data[5 * N + 4] == from * 1000 + 7 && data[4 * N + 5] == to * 1000 + 7);
    }
    nvshmemx_barrier_all_block();
    EXPECT(data[2 * N + rank % N] == from * 1000 + rank % N && data[3 * N + rank % N] == from * 1000 + rank % N + 1);
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

/* Catches: a warpgroup that waits for the rest of the block, or goes on before others' data is there. */
__global__ void by_warpgroup(int *d, int *bad)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), rank = threadIdx.x;
    if (rank >= 128)
        return; /* the second warpgroup takes no part */
    nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD); /* other PEs' earlier kernels use d */
    for (int k = 1; k <= 3; k++) {
        nvshmem_int_p(d + rank, me * 1000 + rank * k, (me + 1) % n);
        EXPECT(nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD) == 0);
        EXPECT(d[(rank + 77) % 128] == (me + n - 1) % n * 1000 + (rank + 77) % 128 * k);
        EXPECT(nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD) == 0);
    }
}

/* Catches: a pair that is torn, the place of another maximum, a source that is overwritten before all have read it. */
__global__ void pairs(double2 *p, int *bad)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    for (int i = threadIdx.x; i < 2 * GROUP; i += blockDim.x)
        p[i] = i == 4 || i == 5 ? make_double2(7, me) /* equal */ : make_double2((me + i) % n * 0.5, me * 100 + i);
    __syncthreads();
    EXPECT(nvshmemx_double2_maxloc_reduce_block(NVSHMEM_TEAM_WORLD, p, p, 2 * GROUP) == 0);
    for (int i = threadIdx.x; i < 2 * GROUP; i += blockDim.x)
        EXPECT(i == 4 || i == 5 ? p[i].x == 7 && p[i].y == 0 : p[i].x == (n - 1) * 0.5 && (int)p[i].y == ((n - 1 - i % n) + n) % n * 100 + i);
}

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

static void queue_pairs(int *bad)
{
    enum { PAIRS = 3 };
    nvshmemx_qp_handle_t *pairs = NULL, *on_device;
    int *data = (int *)nvshmem_calloc(7 * N, sizeof(int));
    uint64_t *words = (uint64_t *)nvshmem_calloc(3, sizeof(uint64_t));
    CHECK(nvshmemx_qp_create(PAIRS, &pairs) == 0 && pairs && nvshmemx_qp_create(-1, &on_device) != 0);
    cudaMalloc(&on_device, PAIRS * sizeof *pairs);
    cudaMemcpy(on_device, pairs, PAIRS * sizeof *pairs, cudaMemcpyDefault);
    by_queue_pair<<<1, GROUP>>>(data, words, on_device, bad);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(on_device);
    free(pairs);
    nvshmem_free(words);
    nvshmem_free(data);
}

/* Catches: a team that waits for PEs that are not in it, members in another order, the members of an earlier team. */
static void own_teams(void)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), *data = (int *)nvshmem_calloc(N, sizeof(int)), h[N];
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    uint64_t *ids = (uint64_t *)nvshmem_malloc(3 * sizeof *ids), id[3];
    CHECK(nvshmemx_team_init(&team, &config, 0, 1, 0) != 0 && team == NVSHMEM_TEAM_INVALID); /* without an id */
    for (int i = 0; i < 3; i++)
        CHECK(nvshmemx_team_get_uniqueid(&id[i]) == 0);
    CHECK(id[0] != id[1] && id[1] != id[2]);
    nvshmem_barrier_all();
    cudaMemcpy(ids, id, sizeof id, cudaMemcpyDefault);
    nvshmem_barrier_all();
    nvshmem_uint64_get(id, ids, 3, 0);
    for (int round = 0; round < 3; round++) { /* all, backwards; the odd PEs and the even ones at once; all but PE 0, and again with an id */
        int members = round == 0 ? n : round == 1 ? (n + 1 - me % 2) / 2 : n - 1;
        int number = round == 0 ? n - 1 - me : round == 1 ? me / 2 : me - 1;
        config.uniqueid = id[round == 1 ? 1 + me % 2 : 0];
        if (number < 0)
            continue;
        CHECK(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, members, number) == 0);
        CHECK(nvshmem_team_my_pe(team) == number && nvshmem_team_n_pes(team) == members);
        CHECK(nvshmem_team_translate_pe(team, members - 1, NVSHMEM_TEAM_WORLD) == (round == 0 ? 0 : round == 1 ? 2 * (members - 1) + me % 2 : n - 1));
        for (int i = 0; i < N; i++)
            h[i] = number + i;
        cudaMemcpy(data, h, sizeof h, cudaMemcpyDefault);
        CHECK(nvshmem_int_sum_reduce(team, data, data, N) == 0); /* by a kernel, which finds the team */
        cudaMemcpy(h, data, sizeof h, cudaMemcpyDefault);
        CHECK(h[3] == members * (members - 1) / 2 + 3 * members);
        nvshmem_team_destroy(team);
    }
    nvshmem_barrier_all();
    nvshmem_free(ids);
    nvshmem_free(data);
}

/* Catches: a message whose memory the host or the network reads, or writes, where only the device can. memory: GRAIN bytes. */
static void messages(char *memory)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    static char h[GRAIN / 2], got[GRAIN / 2];
    for (size_t bytes = 8; bytes <= sizeof h; bytes *= 64) {
        shmemx_tag_request_t send, receive;
        shmemx_tag_status_t status;
        for (size_t i = 0; i < bytes; i++)
            h[i] = (char)(me * 7 + i * 3 + bytes);
        cudaMemcpy(memory, h, bytes, cudaMemcpyDefault);
        shmemx_tag_irecv(SHMEM_TEAM_WORLD, memory + GRAIN / 2, sizeof got, bytes, SHMEMX_TAG_EXACT, from, &receive);
        shmemx_tag_isend(SHMEM_TEAM_WORLD, memory, bytes, bytes, to, &send);
        shmemx_tag_wait(&receive, &status);
        shmemx_tag_wait(&send, NULL);
        cudaMemcpy(got, memory + GRAIN / 2, bytes, cudaMemcpyDefault);
        size_t wrong = 0;
        for (size_t i = 0; i < bytes; i++)
            wrong += got[i] != (char)(from * 7 + i * 3 + bytes);
        CHECK(wrong == 0 && status.bytes == bytes && status.source == from);
    }
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

/* Everything, on symmetric memory of BYTES whose words are zero. */
enum { BYTES = 2 * ROOM * (int)sizeof(int) + 2 * N * (int)sizeof(half) + 16 * (int)sizeof(uint64_t) };
static void all_families(char *memory, nvshmem_team_t half_team)
{
    int *d = (int *)memory, *s = d + ROOM, *bad, line = 0;
    uint64_t *words = (uint64_t *)(s + ROOM);
    half *hd = (half *)(words + 16), *hs = hd + N;
    cudaMalloc(&bad, sizeof *bad);
    cudaMemset(bad, 0, sizeof *bad);
    void *args[] = {&d, &words, &bad};
    CHECK(nvshmemx_collective_launch((const void *)one_thread, dim3(1), dim3(1), args, 0, 0) == 0);
    by_block<<<1, GROUP>>>(NVSHMEM_TEAM_WORLD, d, s, hd, hs, bad);
    by_warp<<<1, 32>>>(NVSHMEMX_TEAM_NODE, d, s, hd, hs, bad);
    if (half_team != NVSHMEM_TEAM_INVALID)
        by_block<<<1, GROUP>>>(half_team, d, s, hd, hs, bad);
    by_warp<<<1, 32>>>(NVSHMEMX_TEAM_SAME_MYPE_NODE, d, s, hd, hs, bad);
    by_warpgroup<<<1, 256>>>(d, bad);
    pairs<<<1, GROUP>>>((double2 *)d, bad);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cudaMemcpy(&line, bad, sizeof line, cudaMemcpyDefault);
    if (line)
        fprintf(stderr, "nvshmem.cu:%d: PE %d: failed in a kernel\n", line, nvshmem_my_pe()), failed++;
    on_streams(d, s, words);
    by_host(d, s);
    cudaFree(bad);
}

/* Memory of cuMemCreate at an address that differs from PE to PE. */
struct mapped {
    CUdeviceptr reserved, at;
    size_t bytes;
};
static mapped map_memory(int device, int handle_types)
{
    CUmemAllocationProp prop = {};
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc access = {};
    mapped m = {0, 0, (size_t)GRAIN * (2 + nvshmem_my_pe())};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = access.location.id = device;
    prop.requestedHandleTypes = (CUmemAllocationHandleType)handle_types;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemCreate(&h, GRAIN, &prop, 0) == CUDA_SUCCESS);
    CHECK(cuMemAddressReserve(&m.reserved, m.bytes, 0, 0, 0) == CUDA_SUCCESS);
    m.at = m.reserved + m.bytes - GRAIN;
    CHECK(cuMemMap(m.at, GRAIN, 0, h, 0) == CUDA_SUCCESS && cuMemSetAccess(m.at, GRAIN, &access, 1) == CUDA_SUCCESS);
    CHECK(cuMemRelease(h) == CUDA_SUCCESS && cudaMemset((void *)m.at, 0, GRAIN) == cudaSuccess);
    return m;
}

static void unmap_memory(const mapped &m)
{
    CHECK(cuMemUnmap(m.at, GRAIN) == CUDA_SUCCESS && cuMemAddressFree(m.reserved, m.bytes) == CUDA_SUCCESS);
}

/* Catches: the program's memory that a routine takes for memory of the heap, or of another PE; a registration of one PE that others do not
 * see fail; memory that cannot be used or registered again after its end. */
static void own_memory(nvshmem_team_t half_team, int device)
{
    mapped m = map_memory(device, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), secret = map_memory(device, 0);
    char *p = (char *)m.at, *plain;
    for (int k = 0; k < 2; k++) {
        CHECK(nvshmemx_buffer_register_symmetric(p, GRAIN, 0) == p);
        if (k == 0)
            all_families(p, half_team), messages(p);
        nvshmem_barrier_all();
        CHECK(nvshmemx_buffer_unregister_symmetric(p, GRAIN) == 0);
        cudaMemset(p, 0, GRAIN);
    }
    CHECK(cudaMalloc(&plain, GRAIN) == cudaSuccess && cudaMemset(plain, 0, GRAIN) == cudaSuccess);
    CHECK(nvshmemx_buffer_register_symmetric(plain, GRAIN, 0) == plain && nvshmemx_buffer_register_symmetric(p, GRAIN, 0) == p);
    all_families(plain + 64, half_team);
    messages(plain);
    nvshmem_barrier_all();
    CHECK(nvshmemx_buffer_register_symmetric(plain, GRAIN, 0) == NULL);
    CHECK(nvshmemx_buffer_unregister_symmetric(plain, GRAIN) == 0 && nvshmemx_buffer_unregister_symmetric(plain, GRAIN) != 0);
    CHECK(cudaFree(plain) == cudaSuccess);
    CHECK(nvshmemx_buffer_unregister_symmetric(p, GRAIN) == 0);
    CHECK(nvshmemx_buffer_register_symmetric(nvshmem_my_pe() == 0 ? NULL : p, GRAIN, 0) == NULL);
    CHECK(nvshmem_n_pes() == 1 || nvshmemx_buffer_register_symmetric((void *)secret.at, GRAIN, 0) == NULL); /* no descriptor */
    unmap_memory(m);
    unmap_memory(secret);
}

/* Catches: a local buffer of the device that the host's calls load and store, also after others have come and gone. */
static void local_memory(int *d)
{
    enum { LOCAL = 1000 };
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n, h[LOCAL];
    int *a, *b, *on_host = new int[LOCAL];
    char *more;
    cudaMalloc(&a, sizeof h);
    cudaMalloc(&b, sizeof h);
    for (int i = 0; i < LOCAL; i++)
        h[i] = me * 10000 + i;
    cudaMemcpy(a, h, sizeof h, cudaMemcpyDefault);
    CHECK(nvshmemx_buffer_register(a, sizeof h) == 0 && nvshmemx_buffer_register(b, sizeof h) == 0);
    CHECK(nvshmemx_buffer_register(a + 5, 8) != 0 && nvshmemx_buffer_register(on_host, sizeof h) == 0 && nvshmemx_buffer_register(NULL, 8) != 0);
    nvshmem_barrier_all();
    nvshmem_int_put(d, a, LOCAL, to);
    nvshmem_barrier_all();
    nvshmem_int_get(b, d, LOCAL, me);
    cudaMemcpy(h, b, sizeof h, cudaMemcpyDefault);
    CHECK(h[0] == from * 10000 && h[LOCAL - 1] == from * 10000 + LOCAL - 1);
    nvshmem_int_get(on_host, d, LOCAL, to);
    CHECK(on_host[7] == me * 10000 + 7);
    CHECK(nvshmemx_buffer_unregister(b) == 0 && nvshmemx_buffer_unregister(b) != 0);
    nvshmemx_buffer_unregister_all();
    CHECK(nvshmemx_buffer_unregister(a) != 0);
    cudaMalloc(&more, GRAIN);
    CHECK(nvshmemx_buffer_register(more, GRAIN) == 0);
    messages(more);
    nvshmem_barrier_all();
    CHECK(nvshmemx_buffer_unregister(more) == 0);
    cudaFree(more);
    cudaFree(a);
    cudaFree(b);
    delete[] on_host;
    nvshmem_barrier_all();
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
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), device = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE), line = 0, *bad;
    CHECK(cudaSetDevice(device) == cudaSuccess);
    cudaMalloc(&bad, 4 * sizeof *bad);
    cudaMemset(bad, 0, 4 * sizeof *bad);
    if (argc > 1) /* from now on kernels may communicate, without an allocation */
        nvshmemx_barrier_all_on_stream(0);
    else
        nvshmem_barrier_all();
    on_itself<<<1, 1>>>(bad + 1, bad);
    queue_pairs(bad);
    own_teams();
    nvshmem_team_t half_team = NVSHMEM_TEAM_INVALID;
    int size = (n + 1) / 2, member = me % 2 == 0;
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &half_team) == 0);
    CHECK(member == (half_team != NVSHMEM_TEAM_INVALID) && nvshmem_team_my_pe(half_team) == (member ? me / 2 : -1));
    cudaMemcpy(&line, bad, sizeof line, cudaMemcpyDefault);
    if (line)
        fprintf(stderr, "nvshmem.cu:%d: PE %d: failed in a kernel\n", line, me), failed++;
    cudaFree(bad);
    char *memory = (char *)nvshmem_calloc(1, BYTES);
    CHECK(memory && nvshmem_ptr(memory, me) != NULL);
    all_families(memory, half_team);
    own_memory(half_team, device);
    local_memory((int *)memory);
    shared_memory();
    nvshmem_team_destroy(half_team);
    CHECK(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, memory) == NULL);
    nvshmem_free(memory);
    nvshmem_finalize();
    printf("%d failed\n", failed);
    return failed != 0;
}
