/* soak.cl - the kernel of the soak test: see soak_ops.h and soak_kernel.c. */
#include <shmemg.h>

#include "soak_ops.h"

/* `cells`, `own` and `sum` are symmetric: bytes that work-items write, words of one work-item, words of all. `fixed` never
 * changes; `known` is a copy of all PEs' `fixed`. `bad` records the first operation with a wrong result. */
SHMEMG_KERNEL void soak_ring(SHMEMG_GLOBAL unsigned char *cells, SHMEMG_GLOBAL uint64_t *own, SHMEMG_GLOBAL uint64_t *sum,
                             SHMEMG_GLOBAL unsigned char *fixed, SHMEMG_GLOBAL unsigned char *known,
                             SHMEMG_GLOBAL uint64_t *left, SHMEMG_GLOBAL uint64_t *bad, uint64_t seed)
{
    int me = shmemg_my_pe(), n = shmemg_n_pes(), item = (int)shmemg_global_id(0), row = me * KITEMS + item;
    unsigned char got[KCELL];
    for (int k = 0; k < KROW; k++) {
        struct kop o = kop_of(seed, me, item, k, n);
        SHMEMG_GLOBAL unsigned char *cell = cells + (row * KROW + k) * KCELL, *from = known + me * KCONST + o.from;
        SHMEMG_GLOBAL unsigned char *truth = known + o.pe * KCONST + o.from;
        uint64_t wrong = 0;
        if (o.kind == KPUT) {
            shmemg_putmem(cell, from, (size_t)o.bytes, o.pe);
        } else if (o.kind == KPUT_NBI) {
            shmemg_putmem_nbi(cell, from, (size_t)o.bytes, o.pe);
        } else if (o.kind == KP) {
            shmemg_uint64_p((SHMEMG_GLOBAL uint64_t *)cell, o.value, o.pe);
        } else if (o.kind == KFENCED) {
            shmemg_uint64_p((SHMEMG_GLOBAL uint64_t *)cell, ~o.value, o.pe);
            shmemg_fence();
            shmemg_uint64_p((SHMEMG_GLOBAL uint64_t *)cell, o.value, o.pe);
        } else if (o.kind == KSIGNAL) {
            shmemg_putmem_signal(cell, from, (size_t)o.bytes, sum + o.word, o.value, SHMEM_SIGNAL_ADD, o.pe);
        } else if (o.kind == KADD) {
            shmemg_uint64_atomic_add(sum + o.word, o.value, o.pe);
        } else if (o.kind == KFETCH) {
            uint64_t before = shmemg_uint64_atomic_fetch_add(own + row, o.value, o.pe);
            wrong = before - left[item * n + o.pe];
            left[item * n + o.pe] += o.value;
        } else if (o.kind == KGET) {
            shmemg_getmem(got, fixed + o.from, (size_t)o.bytes, o.pe);
            for (int i = 0; i < o.bytes; i++)
                wrong |= (uint64_t)(got[i] ^ truth[i]);
        } else if (o.kind == KG) {
            wrong = shmemg_uint64_g((SHMEMG_GLOBAL uint64_t *)(fixed + (o.from & ~7)), o.pe) ^
                    *(SHMEMG_GLOBAL uint64_t *)(known + o.pe * KCONST + (o.from & ~7));
        } else {
            shmemg_quiet();
        }
        if (wrong && bad[2 * item] == 0) {
            bad[2 * item] = 1 + (uint64_t)k;
            bad[2 * item + 1] = wrong;
        }
    }
}
