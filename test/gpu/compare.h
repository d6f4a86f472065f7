/*
 * compare.h - the kernels of compare.cl (Fulmar) and compare_nvshmem.cu, which define the macros for the calls, so that both run the same
 * loops.
 */
enum { W_P, W_P_QUIET, W_PUT_SIGNAL, W_G, W_FETCH_ADD, W_ADD, W_FENCE, W_QUIET, W_PUT, W_GET };
enum { C_SYNC, C_BROADCAST, C_FCOLLECT, C_ALLTOALL, C_SUM };

/* Each work-item makes one kind of call on words of its own. */
KERNEL void loop(GLOBAL uint64_t *w, GLOBAL uint64_t *from, GLOBAL uint64_t *signal, int what, int pe, uint64_t rounds)
{
    uint64_t sum = 0;
    GLOBAL uint64_t *mine = w + GLOBAL_ID, *source = from + GLOBAL_ID;
    for (uint64_t i = 1; i <= rounds; i++) {
        switch (what) {
        case W_P: P(mine, i, pe); break;
        case W_P_QUIET:
            P(mine, i, pe);
            QUIET();
            break;
        case W_PUT_SIGNAL: PUT_SIGNAL_NBI(mine, source, 1, signal, i, SIGNAL_SET, pe); break;
        case W_G: sum += G(mine, pe); break;
        case W_FETCH_ADD: sum += FETCH_ADD(mine, 1, pe); break;
        case W_ADD: ADD(mine, 1, pe); break;
        case W_FENCE: FENCE(); break;
        case W_QUIET: QUIET(); break;
        case W_GET: GET(mine, source, 1, pe); break;
        default: PUT(mine, source, 1, pe); break;
        }
    }
    QUIET();
    if (sum == 1)
        from[0] = sum;
}

/* Each group puts, or gets, its share; shift: bytes by which the target is misaligned. */
KERNEL void bulk(GLOBAL uint64_t *w, GLOBAL uint64_t *from, uint64_t words, int shift, int gets, int pe, uint64_t rounds)
{
    uint64_t share = words / GROUPS, at = share * GROUP, bytes = (share - 1) * 8;
    GLOBAL char *to = (GLOBAL char *)(w + at) + shift, *source = (GLOBAL char *)(from + at);
    for (uint64_t i = 0; i < rounds; i++) {
        if (gets)
            GET_GROUP(to, source, bytes, pe);
        else
            PUT_GROUP(to, source, bytes, pe);
    }
    QUIET();
}

/* Without a library: what the memory allows. */
KERNEL void plain(GLOBAL uint64_t *w, GLOBAL uint64_t *from, uint64_t words, uint64_t rounds)
{
    for (uint64_t r = 0; r < rounds; r++)
        for (uint64_t i = GLOBAL_ID; i < words; i += GROUPS * ITEMS)
            w[i] = from[i] + r;
}

/* Two PEs put words with signals in turns. */
KERNEL void ping(GLOBAL uint64_t *w, GLOBAL uint64_t *from, GLOBAL uint64_t *signal, uint64_t before, uint64_t n, int first, int pe)
{
    for (uint64_t i = before + 1; i <= before + n; i++) {
        if (!first)
            WAIT(signal, i);
        PUT_SIGNAL(w, from, 1, signal, i, SIGNAL_SET, pe);
        if (first)
            WAIT(signal, i);
    }
}

/* A group of each PE makes one kind of collective of `words` words for each PE, again and again. */
KERNEL void meet(GLOBAL uint64_t *w, GLOBAL uint64_t *from, int what, uint64_t words, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        switch (what) {
        case C_BROADCAST: BROADCAST_GROUP(w, from, words); break;
        case C_FCOLLECT: FCOLLECT_GROUP(w, from, words); break;
        case C_ALLTOALL: ALLTOALL_GROUP(w, from, words); break;
        case C_SUM: SUM_GROUP(w, from, words); break;
        default: SYNC_ALL_GROUP(); break;
        }
    }
}
