/*
 * litmus.cl - one kernel for each ordering edge of the device library, run many times: two work-groups, or two PEs, and
 * a word that counts forbidden outcomes. Written with shmemg.h's macros: OpenCL C and CUDA C++.
 *
 * bad[0] counts the violations that this PE sees. Every kernel ends by itself when the job is aborted.
 */
#include <shmemg.h>

enum { WORDS = 24 }; /* of a payload: more than a request holds inline */

/* The number of n words that differ from this value. */
static inline SHMEMG_DEVICE int others(SHMEMG_GLOBAL uint64_t *p, int n, uint64_t value)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += shi_load_relaxed((SHMEMG_GLOBAL shi_u64 *)p + i) != value;
    return count;
}

static inline SHMEMG_DEVICE void count(SHMEMG_GLOBAL uint64_t *bad, int n)
{
    if (n)
        shi_atom64_add((SHMEMG_GLOBAL shi_u64 *)bad, (shi_u64)n);
}

/*
 * Message passing and signal after data. Group 0 sends i in `words` words to group 1 of PE `to`, which checks them
 * after the signal and answers. how: 0 put_signal; 1 put_nbi, fence, signal_set; 2 put, quiet, p; + 4: by all items of
 * the group.
 */
SHMEMG_KERNEL void message(SHMEMG_GLOBAL uint64_t *bad, SHMEMG_GLOBAL uint64_t *data, SHMEMG_GLOBAL uint64_t *source,
                           SHMEMG_GLOBAL uint64_t *sig, SHMEMG_GLOBAL uint64_t *answer, int words, int how, int to,
                           int back, uint64_t first, uint64_t rounds)
{
    int mine = shmemg_local_id(0) == 0, all = (how & 4) != 0;
    if (!all && !mine)
        return;
    for (uint64_t i = first; i < first + rounds; i++) {
        if (shmemg_group_id(0) == 0) {
            if (mine)
                for (int w = 0; w < words; w++)
                    source[w] = i;
            if (how == 4)
                shmemg_uint64_put_signal_tg(data, source, (size_t)words, sig, i, SHMEM_SIGNAL_SET, to);
            else if (how == 0)
                shmemg_uint64_put_signal(data, source, (size_t)words, sig, i, SHMEM_SIGNAL_SET, to);
            else if (how == 1) {
                shmemg_uint64_put_nbi(data, source, (size_t)words, to);
                shmemg_fence();
                shmemg_signal_set(sig, i, to);
                shmemg_quiet(); /* source is reused */
            } else {
                shmemg_uint64_put(data, source, (size_t)words, to);
                shmemg_quiet();
                shmemg_uint64_p(sig, i, to);
            }
            if (all)
                shmemg_signal_wait_until_tg(answer, SHMEM_CMP_GE, i);
            else
                shmemg_signal_wait_until(answer, SHMEM_CMP_GE, i);
        } else {
            if (all)
                shmemg_signal_wait_until_tg(sig, SHMEM_CMP_GE, i);
            else
                shmemg_signal_wait_until(sig, SHMEM_CMP_GE, i);
            if (mine) {
                count(bad, others(data, words, i));
                shmemg_signal_set(answer, i, back);
            }
            if (all)
                shmemg_barrier();
        }
    }
}

/*
 * Store buffering. Groups 0 and 1 each store to a word of PE `to`, complete the store, and read the other's word; at
 * least one of them must see the new value. `cells` pairs of words in a row, so that both groups sometimes are at the
 * same pair. word and seen: [2][cells] words 64 bytes apart.
 */
SHMEMG_KERNEL void buffering(SHMEMG_GLOBAL uint64_t *bad, SHMEMG_GLOBAL uint64_t *word, SHMEMG_GLOBAL uint64_t *seen,
                             SHMEMG_GLOBAL uint64_t *phase, int cells, int to, uint64_t first, uint64_t rounds)
{
    int g = (int)shmemg_group_id(0), other = !g;
    if (shmemg_local_id(0) != 0)
        return;
    for (uint64_t i = first; i < first + rounds; i++) {
        shmemg_signal_set(phase + 8 * other, 2 * i, to);
        shmemg_signal_wait_until(phase + 8 * g, SHMEM_CMP_GE, 2 * i);
        for (int c = 0; c < cells; c++) {
            shmemg_uint64_p(word + 8 * (g * cells + c), i, to);
            shmemg_quiet();
            seen[8 * (g * cells + c)] = shmemg_uint64_g(word + 8 * (other * cells + c), to);
        }
        shmemg_quiet();
        shmemg_signal_set(phase + 8 * other, 2 * i + 1, to);
        shmemg_signal_wait_until(phase + 8 * g, SHMEM_CMP_GE, 2 * i + 1);
        for (int c = 0; g == 0 && c < cells; c++)
            count(bad, seen[8 * c] < i && seen[8 * (cells + c)] < i);
    }
}

/*
 * Slot reuse. Every work-item of every group posts to a ring that is far smaller than the number of requests. Each
 * request must arrive once and complete: puts count up a word of each work-item, and fetching additions a common word,
 * whose results must grow for each work-item.
 */
SHMEMG_KERNEL void laps(SHMEMG_GLOBAL uint64_t *bad, SHMEMG_GLOBAL uint64_t *place, SHMEMG_GLOBAL uint64_t *total, int to,
                        uint64_t rounds)
{
    size_t me = shmemg_global_id(0);
    uint64_t seen = 0;
    for (uint64_t i = 1; i <= rounds; i++) {
        shmemg_uint64_p(place + me, i, to);
        if (i % 8 == 0) {
            uint64_t before = shmemg_uint64_atomic_fetch_add(total, 1, to) + 1;
            count(bad, before <= seen);
            seen = before;
        }
        if (i % 16 == 0) {
            shmemg_fence();
            count(bad, shmemg_uint64_g(place + me, to) != i);
        }
    }
    shmemg_quiet();
}

/*
 * Host and kernel: the kernel writes data to its heap and requests a put and a get; the proxy reads the data after R1,
 * and the kernel finds its own word again after R3. Each round uses the next of `slots` places.
 */
SHMEMG_KERNEL void there_and_back(SHMEMG_GLOBAL uint64_t *bad, SHMEMG_GLOBAL uint64_t *source,
                                  SHMEMG_GLOBAL uint64_t *remote,
                                  SHMEMG_GLOBAL uint64_t *back, int slots, int to, uint64_t rounds)
{
    if (shmemg_global_id(0) != 0)
        return;
    for (uint64_t i = 1; i <= rounds; i++) {
        uint64_t at = i % (uint64_t)slots * WORDS;
        for (int w = 0; w < WORDS; w++)
            source[at + w] = i;
        shmemg_uint64_put_nbi(remote + at, source + at, WORDS, to);
        shmemg_fence();
        shmemg_uint64_get_nbi(back + at, remote + at, WORDS, to);
        shmemg_quiet();
        count(bad, others(back + at, WORDS, i));
    }
}
