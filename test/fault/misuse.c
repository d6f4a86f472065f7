/*
 * misuse.c - one wrong call per mode, made by the last PE while the others wait in a barrier or, in modes that begin
 * with all_, by all PEs with different arguments; check.sh has the expected lines.
 */
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int word, words[16];
static const int constant = 3;
static int *const relocated = &word; /* also constant, but in another segment */
static uint64_t sig;
static long *block; /* a heap block of 64 bytes */
static long *odd;   /* of 40 */
static long *device_block; /* of 40, of the device heap; all allocate it in modes with "device" */
static long *space_block; /* of 40, of a space, in modes with "space": of all PEs, or of this PE alone */
static shmemx_space_t space;
static void *once;  /* of 64; all free it before modes that begin with freed_ */
static long many[64];
static long psync[SHMEM_ALLTOALLS_SYNC_SIZE];
static int me;

static void *put_once(void *arg)
{
    shmem_int_p(&word, 1, 0);
    return arg;
}

static void second_thread(void)
{
    pthread_t t;
    pthread_create(&t, NULL, put_once, NULL);
    pthread_join(t, NULL);
}

static void forked(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        put_once(NULL);
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 1)
        shmem_global_exit(1); /* the child alone has ended */
}

static shmemx_tag_request_t tag_request;

static void start_twice(void)
{
    shmemx_tag_recv_init(SHMEM_TEAM_WORLD, &word, sizeof word, 1, SHMEMX_TAG_EXACT, 0, &tag_request);
    shmemx_tag_start(&tag_request);
    shmemx_tag_start(&tag_request);
}

static void start_other(void)
{
    shmemx_tag_irecv(SHMEM_TEAM_WORLD, &word, sizeof word, 1, SHMEMX_TAG_EXACT, 0, &tag_request);
    shmemx_tag_start(&tag_request);
}

static void complete_copy(void)
{
    shmemx_tag_recv_init(SHMEM_TEAM_WORLD, &word, sizeof word, 1, SHMEMX_TAG_EXACT, 0, &tag_request);
    shmemx_tag_request_t copy = tag_request;
    shmemx_tag_request_free(&tag_request);
    shmemx_tag_test(&copy, NULL);
}

static void (*inside)(void); /* what the GPC's function does */
static int h_inside;

static int call_inside(shmemx_gpc_call_t *c)
{
    (void)c;
    inside();
    return 0;
}

static void in_gpc(void (*what)(void))
{
    inside = what;
    shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_inside, shmem_my_pe(), NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL);
}

static void wait_for_word(void)
{
    shmem_int_wait_until(&word, SHMEM_CMP_EQ, 0); /* an error even if the condition holds already */
}

static void lock_block(void)
{
    shmem_set_lock(block);
}

static void split_by(int size)
{
    shmem_team_t t;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &t);
}

static void fill_heap(void)
{
    if (shmem_malloc(2 << 20) || shmem_calloc(3, 1 << 20) || shmem_realloc(block, 2 << 20))
        puts("the allocation succeeded");
}

/* Calls with SHMEM_CHECK=1 that touch the ends of blocks, and are right. */
static void edges(void)
{
    char *end = (char *)(odd + 5), *grown = shmem_malloc(8);
    grown = shmem_realloc(grown, 999);
    shmem_putmem(end, many, 0, 0);
    shmem_getmem(many, end + 24, 0, 0);
    shmem_putmem(end - 1, many, 1, 0);
    shmem_long_iput(odd, many, 2, 1, 3, 0);
    shmem_long_iget(many, odd, 1, 4, 2, 0);
    shmem_long_iput(odd + 5, many, 1, 1, 0, 0);
    shmem_long_atomic_inc(odd + 4, 0);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, block, odd, 5, 0);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, block, odd, 8 / (size_t)shmem_n_pes());
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, many, 7, 1, 1);
    shmem_putmem(grown + 990, many, 9, 0);
    shmem_free(grown);
}

/* One PE calls another collective routine than the rest. */
static void finalize_or_sync(void)
{
    if (me)
        shmem_finalize();
    else
        shmem_sync_all();
}

#define W SHMEM_TEAM_WORLD
#define MODES(M)                                                                                                     \
    M(pe_negative, shmem_int_p(&word, 1, -1))                                                                        \
    M(pe_large, shmem_long_get(block, block, 1, shmem_n_pes()))                                                      \
    M(pe_of_nothing, shmem_putmem(block, &word, 0, shmem_n_pes()))                                                   \
    M(pe_amo, shmem_int_atomic_fetch_add(&word, 1, 1 << 30))                                                         \
    M(pe_signal, shmem_signal_set(&sig, 1, -7))                                                                      \
    M(pe_quiet, shmem_pe_quiet((int[]){0, 77}, 2))                                                                   \
    M(pe_ptr, shmem_ptr(&word, -2))                                                                                  \
    M(dest_on_stack, shmem_int_put(&on_stack, &word, 1, 0))                                                          \
    M(source_on_stack, shmem_int_g(&on_stack, 0))                                                                    \
    M(dest_null, shmem_char_put(NULL, (char *)words, 1, 0))                                                          \
    M(put_to_constant, shmem_int_p((int *)&constant, 1, 0))                                                          \
    M(put_to_relocated, shmem_putmem((void *)&relocated, words, 8, 0))                                               \
    M(amo_on_constant, shmem_int_atomic_inc((int *)&constant, 0))                                                    \
    M(reduce_to_constant, shmem_int_sum_reduce(SHMEM_TEAM_WORLD, (int *)&constant, words, 1))                        \
    M(amo_on_stack, shmem_int_atomic_inc(&on_stack, 0))                                                              \
    M(signal_on_stack, shmem_putmem_signal(block, words, 8, (uint64_t *)&on_stack, 1, SHMEM_SIGNAL_SET, 0))          \
    M(wait_on_stack, shmem_int_wait_until(&on_stack, SHMEM_CMP_EQ, 0))                                               \
    M(past_heap, shmem_putmem(block, words, (size_t)2 << 20, 0))                                                     \
    M(past_static, shmem_getmem(block, words, (size_t)1 << 30, 0))                                                   \
    M(overflow_long, shmem_long_put(block, block, SIZE_MAX / 4, 0))                                                  \
    M(overflow_int, shmem_int_get(words, words, SIZE_MAX / 4, 0))                                                    \
    M(overflow_stride, shmem_long_iput(block, block, PTRDIFF_MAX / 2, 1, 9, 0))                                      \
    M(past_stride, shmem_long_iget(block, block, 1, 1 << 17, 9, 0))                                                  \
    M(stride_zero, shmem_int_iget(words, words, 0, 1, 4, 0))                                                         \
    M(stride_short, shmem_int_ibput(words, words, 3, 4, 4, 2, 0))                                                    \
    M(ctx_invalid, shmem_ctx_int_p(SHMEM_CTX_INVALID, &word, 1, 0))                                                  \
    M(bad_cmp, shmem_int_test(&word, 7, 0))                                                                          \
    M(bad_cmp_wait, shmem_ulong_wait_until_any((unsigned long *)block, 1, NULL, 0, 0))                               \
    M(bad_sig_op, shmem_int_put_signal(words, &word, 1, &sig, 1, 3, 0))                                              \
    M(overlap, shmem_int_put(&words[1], &words[0], 4, shmem_my_pe()))                                                \
    M(block_put, shmem_putmem(block, many, 65, 0))                                                                   \
    M(block_get, shmem_long_get(many, odd + 1, 5, 0))                                                                \
    M(block_nbi, shmem_long_put_nbi(odd, many, 6, 0))                                                                \
    M(block_p, shmem_long_p(odd + 5, 1, 0))                                                                          \
    M(block_source, shmem_putmem(many, odd, 41, 0))                                                                  \
    M(block_dest, shmem_getmem(odd, many, 48, 0))                                                                    \
    M(block_iput, shmem_long_iput(odd, many, 2, 1, 4, 0))                                                            \
    M(block_iget_dest, shmem_long_iget(odd, many, 5, 1, 2, 0))                                                       \
    M(block_amo, shmem_long_atomic_fetch(odd + 5, 0))                                                                \
    M(block_fetch, shmem_long_atomic_fetch_inc_nbi(odd + 5, many, 0))                                                \
    M(block_signal, shmem_long_put_signal(odd, many, 5, (uint64_t *)odd + 5, 1, SHMEM_SIGNAL_ADD, 0))                \
    M(block_wait, shmem_long_test_any(odd, 6, NULL, SHMEM_CMP_EQ, 0))                                                \
    M(block_lock, shmem_set_lock(odd + 5))                                                                           \
    M(block_reduce, shmem_long_sum_reduce(W, odd, many, 6))                                                          \
    M(block_fcollect, shmem_long_fcollect(W, odd, many, 3))                                                          \
    M(block_none, shmem_putmem(block + 4096, many, 8, 0))                                                            \
    M(block_device, shmem_putmem(device_block, many, 41, 0))                                                         \
    M(freed_put, shmem_long_p(once, 1, 0))                                                                           \
    M(freed_get, (void)shmem_long_g((long *)once + 1, 0))                                                            \
    M(freed_wait, shmem_signal_wait_until(once, SHMEM_CMP_GE, 0))                                                    \
    M(freed_source, shmem_putmem(many, once, 8, 0))                                                                  \
    M(freed_device, shmem_putmem(device_block, many, 8, 0))                                                          \
    M(block_space, shmem_putmem(space_block, many, 41, 0))                                                           \
    M(freed_space, shmem_putmem(space_block, many, 8, 0))                                                            \
    M(space_of_one, shmem_putmem(space_block, many, 8, 0))                                                           \
    M(space_of_one_amo, shmem_long_atomic_fetch_inc(space_block, 0))                                                 \
    M(space_dead, (shmemx_space_destroy(space), shmemx_space_malloc(space, 8)))                                      \
    M(space_foreign, shmemx_space_free(space, once))                                                                 \
    M(space_no_handle, shmemx_space_destroy((shmemx_space_t)(uintptr_t)4711))                                        \
    M(all_edges, edges())                                                                                            \
    M(misaligned, shmem_long_atomic_inc((long *)((char *)block + 4), 0))                                             \
    M(misaligned_fetch, (void)shmem_int_atomic_fetch((int *)((char *)block + 2), 1))                                 \
    M(misaligned_set, shmem_signal_set((uint64_t *)((char *)block + 4), 1, 0))                                       \
    M(misaligned_signal, shmem_putmem_signal(words, words, 8, (uint64_t *)((char *)block + 4), 1, SHMEM_SIGNAL_ADD, 0))\
    M(free_foreign, shmem_free(&on_stack))                                                                           \
    M(free_inside, shmem_free(block + 1))                                                                            \
    M(realloc_foreign, (void)!shmem_realloc(&word, 8))                                                               \
    M(realloc_old_name, (void)shrealloc(&on_stack, 8))                                                               \
    M(free_twice, (shmem_free(once), shmem_free(once)))                                                              \
    M(unknown_hints, shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0x11, NULL, 0x20))                                   \
    M(clear_free_lock, shmem_clear_lock(block))                                                                      \
    M(clear_lock_of_other, shmem_clear_lock(block + 1))                                                              \
    M(overlap_fcollect, shmem_long_fcollect(W, block, block + 1, 1))                                                 \
    M(overlap_alltoall, shmem_int_alltoall(W, words, words + 1, 1))                                                  \
    M(overlap_alltoalls, shmem_int_alltoalls(W, words, words + 2, 2, 2, 1))                                          \
    M(overlap_broadcast, shmem_broadcastmem(W, words, words + 1, 8, 0))                                              \
    M(overlap_reduce, shmem_int_sum_reduce(W, words, words + 1, 2))                                                  \
    M(overlap_scan, shmem_int_sum_inscan(W, words + 1, words, 2))                                                    \
    M(reduce_for_barrier, shmem_int_sum_reduce(W, words, words, 1))                                                  \
    M(free_for_barrier, shmem_free(block))                                                                           \
    M(all_overlap_collect, shmem_collectmem(W, block, me ? (char *)block + 15 : (char *)words, 8))                   \
    M(all_root, shmem_broadcastmem(W, block, block, 8, me))                                                          \
    M(all_old_root, shmem_broadcast64(block, block, 1, me, 0, 0, 2, psync))                                          \
    M(all_bytes, shmem_broadcastmem(W, block, block, 8 + 8 * me, 0))                                                 \
    M(all_type, me ? shmem_int_sum_reduce(W, words, words, 2) : shmem_long_sum_reduce(W, block, block, 1))           \
    M(all_op, me ? shmem_int_min_reduce(W, words, words, 2) : shmem_int_max_reduce(W, words, words, 2))              \
    M(all_elements, shmem_double_sum_reduce(W, (double *)block, (double *)block, 1 + me))                            \
    M(all_scan, shmem_int_sum_exscan(W, words, words, 2 - me))                                                       \
    M(all_fcollect, shmem_int_fcollect(W, words, (int *)block, 1 + me))                                              \
    M(all_alltoall, shmem_alltoallmem(W, words, block, 4 + 4 * me))                                                  \
    M(all_alltoalls, shmem_int_alltoalls(W, words, (int *)block, 1 + me, 1, 1))                                      \
    M(all_to_all, me ? shmem_fcollectmem(W, words, block, 4) : shmem_alltoallmem(W, words, block, 4))                \
    M(all_malloc, (void)!shmem_malloc(8 + 8 * me))                                                                   \
    M(all_calloc, (void)!shmem_calloc(2, 8 + 8 * me))                                                                \
    M(all_align, (void)!shmem_align(64 << me, 8))                                                                    \
    M(all_realloc, (void)!shmem_realloc(block, 8 + 8 * me))                                                          \
    M(all_free, shmem_free(me ? once : block))                                                                       \
    M(all_split, split_by(1 + me))                                                                                   \
    M(all_full, fill_heap())                                                                                         \
    M(all_finalize, finalize_or_sync())                                                                              \
    M(second_thread, second_thread())                                                                                \
    M(forked, forked())                                                                                              \
    M(after_finalize, shmem_int_p(&word, 1, 0))                                                                      \
    M(after_finalize_barrier, shmem_barrier_all())                                                                   \
    M(after_finalize_malloc, (void)!shmem_malloc(8))                                                                 \
    M(after_finalize_again, shmem_finalize())                                                                        \
    M(tag_start_null, shmemx_tag_start(&tag_request))                                                                \
    M(tag_start_active, start_twice())                                                                               \
    M(tag_start_other, start_other())                                                                                \
    M(tag_copied_handle, complete_copy())                                                                            \
    M(gpc_barrier, in_gpc(shmem_barrier_all))                                                                        \
    M(gpc_wait_until, in_gpc(wait_for_word))                                                                         \
    M(gpc_lock, in_gpc(lock_block))                                                                                  \
    M(lock_twice, (lock_block(), lock_block()))                                                                      \
    M(before_init, shmem_int_p(&word, 1, 0))                                                                         \
    M(before_init_ctx, shmem_ctx_quiet(SHMEM_CTX_DEFAULT))                                                           \
    M(before_init_pe, printf("%d\n", shmem_my_pe()))                                                                 \
    M(before_init_amo, shmem_int_atomic_inc(&word, 0))                                                               \
    M(before_init_wait, shmem_int_wait_until(&word, SHMEM_CMP_EQ, 0))                                                \
    M(before_init_malloc, (void)!shmem_malloc(8))                                                                    \
    M(bad_level, shmem_init_thread(17, &word))

/* Disable the compiler's warnings about the wrong calls. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wuse-after-free"

/* A space of all PEs, or, for the modes of a space that others do not have, of each PE alone; and a block in it. */
static void make_space(const char *mode)
{
    shmem_team_t alone = SHMEM_TEAM_WORLD;
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_HOST, .size = 4096};
    int all = strstr(mode, "block") || strstr(mode, "freed");
    if (!all)
        shmemx_team_split_color(SHMEM_TEAM_WORLD, shmem_my_pe(), 0, NULL, 0, &alone);
    if (all || shmem_my_pe() == shmem_n_pes() - 1)
        shmemx_space_create(alone, &c, &space);
    space_block = shmemx_space_malloc(space, 40);
    if (strstr(mode, "freed"))
        shmemx_space_free(space, space_block);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int everyone = strncmp(mode, "all_", 4) == 0;
    int on_stack = 0, early = strncmp(mode, "before", 6) == 0 || strcmp(mode, "bad_level") == 0;
    if (!early) {
        shmem_init();
        once = shmem_malloc(64);
        block = shmem_malloc(64);
        if (!block) { /* only in the tests of heap sizes */
            puts("no room");
            return 9;
        }
        memset(block, 0, 64);
        if (strstr(mode, "block_") || strcmp(mode, "all_edges") == 0)
            odd = shmem_malloc(40);
        if (strstr(mode, "_device"))
            device_block = shmemg_malloc(40);
        if (strncmp(mode, "freed_", 6) == 0)
            shmem_free(once);
        if (strstr(mode, "space"))
            make_space(mode);
        if (strcmp(mode, "freed_device") == 0)
            shmemg_free(device_block);
        if (strncmp(mode, "gpc", 3) == 0)
            h_inside = shmemx_gpc_register(call_inside);
        me = shmem_my_pe();
        if (strcmp(mode, "clear_lock_of_other") == 0 && me == 0)
            shmem_set_lock(block + 1);
        shmem_barrier_all();
        if (strcmp(mode, "free_twice") == 0 && shmem_my_pe() != shmem_n_pes() - 1)
            shmem_free(once);
    }
    int last = early || everyone || shmem_my_pe() == shmem_n_pes() - 1;
    if (strncmp(mode, "after_finalize", 14) == 0)
        shmem_finalize();
    else if (!last && *mode)
        shmem_barrier_all();
#define M(NAME, CALL)                                                                                                \
    if (last && strcmp(mode, #NAME) == 0)                                                                            \
        (void)(CALL);
    MODES(M)
#undef M
    if (last && *mode)
        printf("%s was not detected\n", mode);
    return 0;
}
