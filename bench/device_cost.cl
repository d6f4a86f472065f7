/*
 * device_cost.cl - one kernel for each call of a kernel whose cost bench/device_cost shows. OpenCL C and CUDA C++.
 *
 * w: 1,024 words of this PE's device heap; PE pe is this one. Each kernel is launched once, by one work-item, one sub-group or one
 * work-group, and makes one call, or two where its name has two.
 */
#include <shmemg.h>

enum { BLOCK = 128 }; /* words */
#define from (w + 256)
#define signal (w + 512)
#define ROW(NAME, ...)                                                                                                 \
    SHMEMG_KERNEL void cost_##NAME(SHMEMG_GLOBAL uint64_t *w, int pe)                                                  \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }

ROW(nothing, )
ROW(p, shmemg_uint64_p(w, 1, pe))
ROW(p_of_4_bytes, shmemg_int_p((SHMEMG_GLOBAL int *)w, 1, pe))
ROW(g, w[3] = shmemg_uint64_g(w, pe))
ROW(put_8, shmemg_uint64_put(w, from, 1, pe))
ROW(put_1024, shmemg_uint64_put(w, from, BLOCK, pe))
ROW(get_8, shmemg_uint64_get(w, from, 1, pe))
ROW(put_nbi_8, shmemg_uint64_put_nbi(w, from, 1, pe))
ROW(put_signal_8, shmemg_uint64_put_signal_nbi(w, from, 1, signal, 1, SHMEM_SIGNAL_SET, pe))
ROW(signal_add, shmemg_signal_add(signal, 1, pe))
ROW(fetch_add, w[3] = shmemg_uint64_atomic_fetch_add(w, 1, pe))
ROW(add, shmemg_uint64_atomic_add(w, 1, pe))
ROW(cswap, w[3] = shmemg_uint64_atomic_compare_swap(w, 0, 1, pe))
ROW(signal_fetch, w[3] = shmemg_signal_fetch(signal))
ROW(wait_until, shmemg_signal_wait_until(signal, SHMEM_CMP_GE, 0))
ROW(test, w[3] = shmemg_uint64_test(w, SHMEM_CMP_GE, 0))
ROW(fence, shmemg_fence())
ROW(quiet, shmemg_quiet())
ROW(pe_fence, int pes[1] = {pe}; shmemxg_pe_fence(pes, 1))
ROW(pe_quiet, int pes[1] = {pe}; shmemg_pe_quiet(pes, 1))
ROW(flush, shmemxg_flush())
ROW(p_and_flush, shmemg_uint64_p(w, 1, pe); shmemxg_flush())
ROW(p_and_fence, shmemg_uint64_p(w, 1, pe); shmemg_fence())
ROW(p_and_quiet, shmemg_uint64_p(w, 1, pe); shmemg_quiet())
ROW(sync_all, shmemg_sync_all())

ROW(put_1024_htg, shmemg_uint64_put_htg(w, from, BLOCK, pe))
ROW(put_signal_1024_htg, shmemg_uint64_put_signal_nbi_htg(w, from, BLOCK, signal, 1, SHMEM_SIGNAL_SET, pe))
ROW(fence_htg, shmemg_fence_htg())
ROW(quiet_htg, shmemg_quiet_htg())
ROW(sync_all_htg, shmemg_sync_all_htg())

ROW(put_1024_tg, shmemg_uint64_put_tg(w, from, BLOCK, pe))
ROW(get_1024_tg, shmemg_uint64_get_tg(w, from, BLOCK, pe))
ROW(put_signal_1024_tg, shmemg_uint64_put_signal_nbi_tg(w, from, BLOCK, signal, 1, SHMEM_SIGNAL_SET, pe))
ROW(fence_tg, shmemg_fence_tg())
ROW(quiet_tg, shmemg_quiet_tg())
ROW(sync_all_tg, shmemg_sync_all_tg())
