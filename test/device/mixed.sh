#!/usr/bin/env bash
# mixed.sh - random lists of a kernel's operations, with a fence or a quiet between any two on the same word, against an oracle:
# on PEs of this host and of another, in memory that the host can and cannot access, by work-items and by whole groups. Behind a fence
# at the end each list tells all PEs by a tagged message and by a GPC what it has left in their memory.
#
# MIXED_SEED and MIXED_ROUNDS repeat a run or make it longer; MIXED_ALL=1 runs each way by work-items and by groups.
. "${top_srcdir:=.}/test/device/run.sh"
command -v mpirun > /dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
export SHMEM_TEST_SPIN=0 SHMEM_DEVICE_SYMMETRIC_SIZE=8M
work=$FAKE_HOSTS seed=${MIXED_SEED:-$(($(date +%s) % 100000))} rounds=${MIXED_ROUNDS:-2}
echo "# MIXED_SEED=$seed"

cat > "$work/mixed.cl" << 'END'
#include <shmemg.h>
/* Each list of operations owns WORDS words at each PE. An operation has 4 words: what, first word, PE, value. */
enum { WORDS = 8, LENGTH = 64, STEPS = 4, VALUES = 1024 };
enum { NOTHING, FENCE, QUIET, P, PUT, PUT_NBI, PUT_ALL, SET, ADD, SIGNAL_SET, SIGNAL_ADD, PUT_SIGNAL_SET, PUT_SIGNAL_ADD, DATA_SIGNAL_ADD,
       FETCH_ADD, SWAP_NBI, G, KINDS };
/* Lists use two contexts in turn. words: of all lists at this PE; value: value[i] is i; old: the result of each step; sum: of the words of
 * each list at each PE, at its end; check: handle of a function. tg: all items run one list together, and
 * operations of one item go from item to item. */
SHMEMG_KERNEL void mixed(SHMEMG_GLOBAL void *even, SHMEMG_GLOBAL void *odd, SHMEMG_GLOBAL uint64_t *words, SHMEMG_GLOBAL uint64_t *value, SHMEMG_GLOBAL uint64_t *steps,
                         SHMEMG_GLOBAL uint64_t *old, SHMEMG_GLOBAL uint64_t *sum, int first, int check, int tg)
{
    size_t list = tg ? shmemg_group_id(0) : shmemg_global_id(0);
    shmem_ctx_t ctx = (shmem_ctx_t)(list % 2 ? odd : even);
    SHMEMG_GLOBAL uint64_t *w = words + (first + list) * WORDS;
    for (int i = 0; i < LENGTH; i++) {
        SHMEMG_GLOBAL uint64_t *s = steps + (list * LENGTH + i) * STEPS, *to = w + s[1], *from = value + s[3];
        SHMEMG_GLOBAL uint64_t *result = old + list * LENGTH + i, *signal = w + WORDS - 1;
        uint64_t what = s[0], v = s[3];
        int pe = (int)s[2], mine = !tg || i % shmemg_local_size(0) == shmemg_local_id(0);
        if (tg) { /* what all items of a group do together */
            if (what == FENCE)
                shmemg_ctx_fence_tg(ctx);
            else if (what == QUIET)
                shmemg_ctx_quiet_tg(ctx);
            else if (what == PUT)
                shmemg_ctx_putmem_tg(ctx, to, from, 8, pe);
            else if (what == PUT_NBI)
                shmemg_ctx_putmem_nbi_tg(ctx, to, from, 8, pe);
            else if (what == PUT_ALL)
                shmemg_ctx_putmem_nbi_tg(ctx, w, from, WORDS * 8, pe);
            else if (what == PUT_SIGNAL_SET || what == PUT_SIGNAL_ADD)
                shmemg_ctx_putmem_signal_tg(ctx, to, from, 8, signal, v, what == PUT_SIGNAL_SET ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD, pe);
            else if (what == DATA_SIGNAL_ADD)
                shmemg_ctx_putmem_signal_nbi_tg(ctx, w, from, (WORDS - 1) * 8, signal, v, SHMEM_SIGNAL_ADD, pe);
        } else {
            if (what == FENCE)
                shmemg_ctx_fence(ctx);
            else if (what == QUIET)
                shmemg_ctx_quiet(ctx);
            else if (what == PUT)
                shmemg_ctx_putmem(ctx, to, from, 8, pe);
            else if (what == PUT_NBI)
                shmemg_ctx_putmem_nbi(ctx, to, from, 8, pe);
            else if (what == PUT_ALL)
                shmemg_ctx_putmem_nbi(ctx, w, from, WORDS * 8, pe);
            else if (what == PUT_SIGNAL_SET || what == PUT_SIGNAL_ADD)
                shmemg_ctx_putmem_signal(ctx, to, from, 8, signal, v, what == PUT_SIGNAL_SET ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD, pe);
            else if (what == DATA_SIGNAL_ADD)
                shmemg_ctx_putmem_signal_nbi(ctx, w, from, (WORDS - 1) * 8, signal, v, SHMEM_SIGNAL_ADD, pe);
        }
        if (!mine)
            continue;
        if (what == P)
            shmemg_ctx_uint64_p(ctx, to, v, pe);
        else if (what == SET)
            shmemg_ctx_uint64_atomic_set(ctx, to, v, pe);
        else if (what == ADD)
            shmemg_ctx_uint64_atomic_add(ctx, to, v, pe);
        else if (what == SIGNAL_SET)
            shmemg_ctx_signal_set(ctx, to, v, pe);
        else if (what == SIGNAL_ADD)
            shmemg_ctx_signal_add(ctx, to, v, pe);
        else if (what == FETCH_ADD)
            *result = shmemg_ctx_uint64_atomic_fetch_add(ctx, to, v, pe);
        else if (what == SWAP_NBI)
            shmemg_ctx_uint64_atomic_swap_nbi(ctx, result, to, v, pe);
        else if (what == G)
            *result = shmemg_ctx_uint64_g(ctx, to, pe);
    }
    if (tg)
        shmemg_ctx_fence_tg(ctx);
    else
        shmemg_ctx_fence(ctx);
    for (int pe = 0; pe < shmemg_n_pes() && (!tg || shmemg_local_id(0) == 0); pe++) {
        uint64_t told[2] = {first + list, sum[list * (size_t)shmemg_n_pes() + (size_t)pe]};
        shmemxg_ctx_tag_send(ctx, &told[1], 8, first + list, pe);
        shmemxg_ctx_gpc_exec_nbi(ctx, check, pe, told, sizeof told);
    }
    if (tg)
        shmemg_ctx_quiet_tg(ctx);
    else
        shmemg_ctx_quiet(ctx);
}
END
sed -n '/^enum/,/;$/p' "$work/mixed.cl" > "$work/mixed.h"
cat > "$work/mixed.c" << 'END'
#include <sched.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mixed.h"
enum { LISTS = 8, ITEMS = 4, PES = 8 };
static uint64_t state, steps[LISTS][LENGTH][STEPS], expect[LISTS][LENGTH], got[LISTS][LENGTH], at[PES][LISTS][WORDS];
static const char *const name[] = {"nothing", "fence", "quiet", "p", "put", "put_nbi", "put all words nbi", "set", "add", "signal_set", "signal_add",
    "put_signal set", "put_signal add", "put_signal_nbi of 7 words, add", "fetch_add", "swap_nbi", "g"};
static uint64_t any(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}
static uint64_t *step(int l, int *n, uint64_t what, uint64_t word, uint64_t pe, uint64_t v)
{
    uint64_t *s = steps[l][(*n)++];
    s[0] = what, s[1] = word, s[2] = pe, s[3] = v;
    return s;
}
/* Make list l: a fence or quiet precedes an operation on a word with an operation since the last one; a quiet precedes a read
 * of a word that was not completed. Word WORDS - 1 alone is a signal. */
static void make(int l, int n_pes)
{
    unsigned char unordered[PES][WORDS] = {{0}}, incomplete[PES][WORDS] = {{0}};
    int n = 0;
    memset(expect[l], 0, sizeof expect[l]);
    while (n < LENGTH - 2) {
        uint64_t what = P + any(KINDS - P), pe = any((uint64_t)n_pes), v = 1 + any(VALUES - WORDS - 1);
        int is_signal = what == SIGNAL_SET || what == SIGNAL_ADD, signals = what >= PUT_SIGNAL_SET && what <= DATA_SIGNAL_ADD;
        uint64_t word = is_signal ? WORDS - 1 : any(WORDS - 1), last = word;
        if (what == PUT_ALL || what == DATA_SIGNAL_ADD)
            word = 0, last = WORDS - 1;
        unsigned char touches[WORDS] = {0};
        for (uint64_t i = word; i <= last; i++)
            touches[i] = 1;
        touches[WORDS - 1] |= (unsigned char)signals;
        int order = 0, complete = 0;
        for (int i = 0; i < WORDS; i++) {
            order |= touches[i] && unordered[pe][i];
            complete |= touches[i] && incomplete[pe][i] && what == G;
        }
        if (complete || (order && any(4) == 0)) {
            step(l, &n, QUIET, 0, 0, 0);
            for (int p = 0; p < PES; p++)
                for (int i = 0; i < WORDS; i++)
                    unordered[p][i] = incomplete[p][i] = 0;
        } else if (order) {
            step(l, &n, FENCE, 0, 0, 0);
            for (int p = 0; p < PES; p++)
                for (int i = 0; i < WORDS; i++)
                    unordered[p][i] = 0;
        }
        for (int i = 0; i < WORDS; i++)
            if (touches[i])
                unordered[pe][i] = incomplete[pe][i] = 1;
        uint64_t *w = at[pe][l], *signal = w + WORDS - 1;
        expect[l][n] = what == FETCH_ADD || what == SWAP_NBI || what == G ? w[word] : 0;
        if (what == PUT_ALL || what == DATA_SIGNAL_ADD)
            for (uint64_t i = 0; i < (what == PUT_ALL ? WORDS : WORDS - 1); i++)
                w[i] = v + i;
        else if (what == ADD || what == SIGNAL_ADD || what == FETCH_ADD)
            w[word] += v;
        else if (what != G)
            w[word] = v;
        if (what == PUT_SIGNAL_SET)
            *signal = v;
        else if (signals)
            *signal += v;
        step(l, &n, what, word, pe, v);
    }
    while (n < LENGTH)
        step(l, &n, NOTHING, 0, 0, 0);
}
static uint64_t *words, told, untrue;
/* The words of a list at this PE have another sum than the list has told. */
static int differs(uint64_t list, uint64_t sum)
{
    uint64_t w[WORDS];
    shmem_getmem(w, words + list * WORDS, sizeof w, shmem_my_pe());
    for (int i = 0; i < WORDS; i++)
        sum -= w[i] << i;
    return sum != 0;
}
static int check(shmemx_gpc_call_t *c)
{
    const uint64_t *h = c->hdr;
    if (differs(h[0], h[1]))
        __atomic_fetch_add(&untrue, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&told, 1, __ATOMIC_RELEASE);
    return 0;
}
int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), tg = argc > 3 && atoi(argv[3]), rounds = atoi(argv[2]), first = me * LISTS, bad = n > PES;
    uint64_t *value = shmemg_calloc(VALUES, 8), *sums = shmemg_calloc(LISTS * PES, 8), sum[LISTS * PES], calls = 0;
    uint64_t *list = shmemg_calloc(LISTS * LENGTH * STEPS, 8), *old = shmemg_calloc(LISTS * LENGTH, 8), v[VALUES];
    int handle = shmemx_gpc_register(check);
    void *even, *odd;
    words = shmemg_calloc((size_t)n * LISTS * WORDS, 8);
    bad |= shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 0, &even) || shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 0, &odd);
    for (int i = 0; i < VALUES; i++)
        v[i] = (uint64_t)i;
    shmem_putmem(value, v, sizeof v, me);
    state = strtoull(argv[1], NULL, 10) * 1000 + (uint64_t)me;
    for (int r = 0; r < rounds && !bad; r++) {
        for (int l = 0; l < LISTS; l++)
            make(l, n);
        shmem_putmem(list, steps, sizeof steps, me);
        memset(sum, 0, sizeof sum);
        for (int i = 0; i < LISTS * n * WORDS; i++)
            sum[i / WORDS] += at[i / WORDS % n][i / WORDS / n][i % WORDS] << i % WORDS;
        shmem_putmem(sums, sum, sizeof sum, me);
        memset(got, 0, sizeof got);
        shmem_putmem(old, got, sizeof got, me);
        shmem_barrier_all();
        const size_t groups[3] = {tg ? LISTS : 2, 1, 1}, items[3] = {tg ? ITEMS : LISTS / 2, 1, 1}, bytes[] = {8, 8, 8, 8, 8, 8, 8, 4, 4, 4};
        bad |= shmemx_launch("mixed", groups, items, (void *[]){&even, &odd, &words, &value, &list, &old, &sums, &first, &handle, &tg}, bytes, 10);
        for (int i = 0; i < n * LISTS && !bad; i++) { /* while the kernel runs */
            shmemx_tag_status_t of;
            uint64_t by_message = 0;
            shmemx_tag_recv(SHMEM_TEAM_WORLD, &by_message, 8, 0, 0, SHMEMX_TAG_ANY_SOURCE, &of);
            if (differs(of.tag, by_message) && bad++ < 3)
                printf("PE %d round %d: a tagged message came before what list %lu has done earlier\n", me, r, (unsigned long)of.tag);
        }
        bad |= shmemx_device_sync();
        for (calls += (uint64_t)(n * LISTS); !bad && __atomic_load_n(&told, __ATOMIC_ACQUIRE) < calls;)
            sched_yield();
        if (untrue)
            printf("PE %d round %d: %lu calls came before what their lists have done earlier\n", me, r, (unsigned long)untrue);
        bad += untrue != 0;
        shmem_getmem(got, old, sizeof got, me);
        for (int l = 0; l < LISTS; l++)
            for (int i = 0; i < LENGTH; i++)
                if (got[l][i] != expect[l][i] && bad++ < 3)
                    printf("PE %d round %d list %d step %d, %s of word %d of PE %d: %lu, not %lu\n", me, r, l, i, name[steps[l][i][0]],
                           (int)steps[l][i][1], (int)steps[l][i][2], (unsigned long)got[l][i], (unsigned long)expect[l][i]);
        for (int p = 0; p < n; p++) {
            uint64_t there[LISTS][WORDS];
            shmem_getmem(there, words + first * WORDS, sizeof there, p);
            for (int l = 0; l < LISTS; l++)
                for (int i = 0; i < WORDS; i++)
                    if (there[l][i] != at[p][l][i] && bad++ < 3)
                        printf("PE %d round %d list %d, word %d of PE %d at the end: %lu, not %lu\n", me, r, l, i, p, (unsigned long)there[l][i],
                               (unsigned long)at[p][l][i]);
        }
    }
    shmemx_device_ctx_destroy(even);
    shmemx_device_ctx_destroy(odd);
    if (bad)
        printf("PE %d: %d errors\n", me, bad);
    shmem_finalize();
    return bad != 0;
}
END
compile_ways mixed

# Catches: an operation that overtakes an earlier one of its context because one is a request and the other a direct store; a
# fence or quiet that holds for the calling item alone; data after its signal.
for way in $ways; do
    use_way "$way"
    for private in 0 1; do
        for setting in "2 -H h1:2,h2:2 1" "8 -H h1:2,h2:2 0" "1024 -H h1:2,h2:2 1" "2 -n3:auto 0" "8 -n3:ofi 1" "1024 -n2:auto 0"; do
            # shellcheck disable=SC2086
            set -- $setting
            ring=$1 places=$2 tg=${*: -1} transport=auto hosts_option=
            if [ "$places" = -H ]; then
                hosts_option="-n 4 -H $3"
            else
                hosts_option="-n ${places#-n}" transport=${hosts_option#*:} hosts_option=${hosts_option%:*}
            fi
            for tg in $([ -z "$MIXED_ALL" ] && echo "$tg" || echo 0 1); do
                # shellcheck disable=SC2086
                SHMEM_TEST_DEVICE_RING=$ring SHMEM_TRANSPORT=$transport ZE_CPU_PRIVATE=$private timeout 120 "$hosts" in h1 $OSHRUN $hosts_option \
                    "$work/mixed-${way%:*}" "$seed" "$rounds" "$tg" > "$work/log" 2>&1
                ok $? "$way, private $private, ring of $ring, $hosts_option, $transport, groups $tg" "$work/log"
            done
        done
    done
done

# The same kernel as SYCL: on this host, as AdaptiveCpp's files need not be on the other.
if find_sycl "$work/jit"; then
    compile_sycl "$work/mixed-sycl" "$work/mixed.c" "$work/mixed.cl" "-I$work"
    ok $? "the program compiles as SYCL" "$work/log"
    unset SHMEM_DEVICE
    for setting in "8 auto 0 0" "2 auto 1 1" "1024 ofi 0 1" "8 ofi 1 0"; do
        # shellcheck disable=SC2086
        set -- $setting
        for tg in $([ -z "$MIXED_ALL" ] && echo "$4" || echo 0 1); do
            SHMEM_TEST_DEVICE_RING=$1 SHMEM_TRANSPORT=$2 ZE_CPU_PRIVATE=$3 timeout 120 $OSHRUN -n 3 "$work/mixed-sycl" "$seed" $((rounds * 10)) "$tg" > "$work/log" 2>&1
            ok $? "SYCL, private $3, ring of $1, -n 3, $2, groups $tg" "$work/log"
        done
    done
else
    skip "SYCL" "$no_sycl"
fi
plan
