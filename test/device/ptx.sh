#!/bin/sh
# ptx.sh - nvcc's PTX of the device library: every ordering edge has its instructions, at system scope, and no more; the
# direct path does not need more registers because of the ring. The CUDA memory model is defined on PTX, so this test
# needs no GPU.
. "${top_srcdir:=.}/test/tap.sh"
if ! command -v nvcc >/dev/null; then
    echo "1..0 # SKIP nvcc is not installed"
    exit 0
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
include="-I$top_srcdir/include -I$top_srcdir/src"

cat >"$dir/k.cu" <<'END'
#include <shmemg.h>
SHMEMG_KERNEL void p(shmem_ctx_t ctx, long *x, int pe) { shmemg_ctx_long_p(ctx, x, 7, pe); }
SHMEMG_KERNEL void put(shmem_ctx_t ctx, long *x, const long *y, int pe) { shmemg_ctx_long_put_nbi(ctx, x, y, 100, pe); }
SHMEMG_KERNEL void signal(shmem_ctx_t ctx, long *x, const long *y, uint64_t *s, int op, int pe)
{
    shmemg_ctx_long_put_signal_tg(ctx, x, y, 100, s, 1, op, pe);
}
SHMEMG_KERNEL void fetch(shmem_ctx_t ctx, long *x, int pe) { x[1] = shmemg_ctx_long_atomic_fetch_add(ctx, x, 1, pe); }
SHMEMG_KERNEL void wait(shmem_ctx_t ctx, uint64_t *s) { shmemg_ctx_signal_wait_until(ctx, s, SHMEM_CMP_GE, 1); }
SHMEMG_KERNEL void fence(shmem_ctx_t ctx) { shmemg_ctx_fence(ctx); }
SHMEMG_KERNEL void quiet(shmem_ctx_t ctx) { shmemg_ctx_quiet(ctx); }
SHMEMG_KERNEL void atomics(unsigned *a, unsigned long long *b)
{
    shi_atom64_swap(b, 1);
    shi_atom64_add(b, 2);
    shi_atom64_and(b, 3);
    shi_atom64_or(b, 4);
    shi_atom64_xor(b, 5);
    shi_atom64_cswap(b, 6, 7);
    shi_atom32_add(a, 8);
    shi_atom32_cswap(a, 9, 10);
}
END

# The memory and ordering instructions of a function, one per line, in program order; slot words as `slot`.
order() { # entry|func, part of the name
    awk -v kind="$1" -v name="$2" '
        $0 ~ "^(.visible )?[.]" kind && index($0, name) { inside = 1 }
        inside && /^}/ { exit }
        inside' "$dir/k.ptx" |
        grep -oE '(fence|bar|ld\.(acquire|relaxed)|st\.(release|relaxed)|atom|red)\.[a-z0-9_.]+|call\.uni|nanosleep' |
        sed 's/^st\.relaxed\.sys\.v2\.b64$/slot/; s/^red\./atom./'
}
# Count matching lines of the last `order`; check that the first match of one pattern precedes that of another.
count() { grep -cE "$1" "$dir/order"; }
before() { awk -v a="$1" -v b="$2" '$0 ~ a && !x { x = NR } $0 ~ b && !y { y = NR } END { exit !(x && y && x < y) }' "$dir/order"; }

check() { # arch
    nvcc -std=c++17 -O3 -arch="$1" -Werror all-warnings $include -ptx "$dir/k.cu" -o "$dir/k.ptx" >"$dir/out" 2>&1
    ok $? "$1: the kernels compile" "$dir/out"

    # Catches: an edge at device scope, which does not order for the proxy and other PEs.
    grep -E '^[[:space:]]*@?[%a-z0-9 ]*(fence|ld\.acquire|st\.release|atom|red)\.' "$dir/k.ptx" | grep -v '\.sys' >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "$1: every ordering and atomic instruction has system scope" "$dir/out"

    # Catches: atomics as a compare-and-swap loop, or with unneeded fences.
    order entry atomics >"$dir/order"
    [ "$(count '^atom\.(exch|add|and|or|xor|cas)\.relaxed\.sys')" -eq 8 ] && [ "$(wc -l <"$dir/order")" -eq 8 ]
    ok $? "$1: each atomic is one relaxed instruction" "$dir/order"

    # Catches: a fence or a release where self-validating words need none (2.4 us each); a missing word; a ticket per
    # lane.
    order func shi_p_by_ring >"$dir/order"
    [ "$(count '^slot$')" -eq 4 ] && [ "$(count '^atom.add')" -eq 1 ] && [ "$(count '^atom')" -eq 2 ] && [ "$(count '^atom.cas')" -eq 1 ] &&
        ! grep -A1 '^fence' "$dir/order" | grep -qv -e '^fence' -e '^st.relaxed' -e '^--' && # only behind a wait for credit
        before '^ld.relaxed.sys' '^slot$' && [ "$(count 'acquire|release')" -eq 0 ]
    ok $? "$1: an inline request is one fetch-add or none, credit, four stores of two words, and an election and fences only in a wait for credit" "$dir/order"
    grep -q 'vote.sync.ballot' "$dir/k.ptx" && grep -q 'shfl.sync.idx' "$dir/k.ptx"
    ok $? "$1: a warp takes its tickets with one atomic"

    # Catches: data that the proxy reads before the kernel's stores are visible (R1).
    order func shi_put_by_ring >"$dir/order"
    before '^fence.acq_rel.sys' '^slot$'
    ok $? "$1: a request that points to memory has its fence (R1) before its slot" "$dir/order"

    # Catches: a signal before its data, on the direct path.
    order entry signal >"$dir/order"
    before '^bar.sync' '^st.release.sys' && before '^bar.sync' '^atom.add.release.sys'
    ok $? "$1: the signal is released by one lane after the others' copies" "$dir/order"
    order entry wait >"$dir/order"
    [ "$(count '^ld.acquire.sys')" -ge 1 ] && [ "$(count '^ld.relaxed.sys')" -ge 1 ] && [ "$(count '^fence.acq_rel.sys')" -eq 1 ] &&
        [ "$(count '^st.release')" -eq 0 ]
    ok $? "$1: waiting for a signal is an acquire, or relaxed polls and one fence" "$dir/order"

    # Catches: ordering for the compiler only; a message or a wait where an epoch suffices.
    order entry fence >"$dir/order"
    before '^ld.relaxed.sys.v2' '^fence.acq_rel.sys' && before '^fence.acq_rel.sys' '^atom.add.relaxed.sys' &&
        [ "$(count '^slot$|^ld.acquire')" -eq 0 ]
    ok $? "$1: fence is a fence and, if a request may not have completed, an epoch, and no message" "$dir/order"
    order entry quiet >"$dir/order"
    before '^ld.relaxed.sys.v2' '^fence.sc.sys' && [ "$(count '^fence.sc.sys')" -eq 1 ] && [ "$(count '^fence')" -eq 2 ] &&
        grep -A1 '^fence.sc.sys' "$dir/order" | grep -q '^st.relaxed.sys.b64' && [ "$(count '^slot$|^ld.acquire')" -eq 0 ]
    ok $? "$1: quiet reads what has completed (A8), waits for done (A3), has one fence, and one in a wait for done, and sends nothing" "$dir/order"

    # Catches: the ring's code inlined into the direct path, its registers added to those of the user's kernel,
    # arguments in local memory.
    for k in p fetch put signal; do
        order entry "$k(" >"$dir/order"
        [ "$(count '^slot$')" -eq 0 ] && [ "$(count '^call.uni')" -ge 1 ]
        ok $? "$1: $k calls the ring's code and does not inline it" "$dir/order"
    done
    ptxas -v -arch="$1" "$dir/k.ptx" -o "$dir/k.cubin" 2>"$dir/out"
    grep -q 'stack frame' "$dir/out" && ! grep 'stack frame' "$dir/out" | grep -qv ' 0 bytes stack frame, 0 bytes spill stores, 0'
    ok $? "$1: nothing is in local memory" "$dir/out"
    registers >"$dir/registers"
    awk '{ print; if (($1 == "p:" || $1 == "fetch:") && $2 > 32 || $2 > 64) bad = 1 } END { exit bad || NR < 7 }' "$dir/registers" >/dev/null
    ok $? "$1: registers, of which p and fetch-add take at most 32, all at most 64, as groups of 1,024 need: $(tr '\n' ' ' <"$dir/registers")" "$dir/registers"
}

# Of the last ptxas -v: NAME: REGISTERS, BYTES of its stack frame and spilled.
registers() {
    awk '/entry function/ { k = $0; sub(/.*function ./, "", k); sub(/. for.*/, "", k) }
         /bytes stack frame/ { stack = $1; spilled = $5 }
         /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used") print k ":", $(i + 1), stack, spilled }' "$dir/out"
}
check sm_80
check sm_90

# Kernels such as users write. Catches: calls whose registers, added to those of the kernel around them, do not fit.
cat >"$dir/users.cu" <<'END'
#include <shmemg.h>
SHMEMG_KERNEL void calls(uint64_t *w, const uint64_t *src, uint64_t *sig, int what, int pe, uint64_t rounds)
{
    uint64_t id = shmemg_global_id(0), sum = 0;
    w += id, src += id;
    for (uint64_t i = 1; i <= rounds; i++)
        switch (what) {
        case 0: shmemg_uint64_p(w, i, pe); break;
        case 1: shmemg_uint64_p(w, i, pe); shmemg_quiet(); break;
        case 2: shmemg_uint64_put_signal_nbi(w, src, 1, sig, i, SHMEM_SIGNAL_SET, pe); break;
        case 3: sum += shmemg_uint64_g(w, pe); break;
        case 4: sum += shmemg_uint64_atomic_fetch_add(w, 1, pe); break;
        case 5: shmemg_uint64_atomic_add(w, 1, pe); break;
        case 6: shmemg_fence(); break;
        case 7: shmemg_quiet(); break;
        default: shmemg_uint64_put(w, src, 1, pe); break;
        }
    shmemg_quiet();
    *sig = sum;
}
SHMEMG_KERNEL void bulk(uint64_t *dest, const uint64_t *src, uint64_t words, int pe, uint64_t rounds)
{
    uint64_t n = words / shmemg_num_groups(0), at = n * shmemg_group_id(0);
    for (uint64_t i = 0; i < rounds; i++)
        shmemg_uint64_put_tg(dest + at, src + at, n, pe);
    shmemg_quiet();
}
SHMEMG_KERNEL void pingpong(uint64_t *w, const uint64_t *src, uint64_t *sig, uint64_t from, uint64_t to, int first, int pe)
{
    for (uint64_t i = from; i < to; i++) {
        if (!first)
            shmemg_signal_wait_until(sig, SHMEM_CMP_GE, i);
        shmemg_uint64_put_signal(w, src, 1, sig, i, SHMEM_SIGNAL_SET, pe);
        if (first)
            shmemg_signal_wait_until(sig, SHMEM_CMP_GE, i);
    }
}
SHMEMG_KERNEL void syncs(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        shmemg_sync_all_tg();
}
END
nvcc -std=c++17 -O3 -arch=sm_90 -Werror all-warnings $include -ptx "$dir/users.cu" -o "$dir/k.ptx" >"$dir/out" 2>&1
ok $? "kernels of users compile" "$dir/out"
ptxas -v -arch=sm_90 "$dir/k.ptx" -o "$dir/k.cubin" 2>"$dir/out"
registers >"$dir/registers"
awk '$2 > 64 || $3 || $4 { bad = 1 } END { exit bad || NR < 5 }' "$dir/registers"
ok $? "they keep everything in registers, at most 64: $(tr '\n' ';' <"$dir/registers")" "$dir/registers"

# With as many registers as these kernels take with NVSHMEM 3.4, its library linked in, ours need no larger a stack than they do. There it is,
# in this order, 384 (72 without the InfiniBand transport), 256 (56), 384 (64) and 288 (144) bytes: see bench/README.md.
grep -v '^[.]maxntid' "$dir/k.ptx" >"$dir/free.ptx"
while read -r kernel most stack; do
    ptxas -v -maxrregcount="$most" -arch=sm_90 "$dir/free.ptx" -o "$dir/k.cubin" 2>"$dir/out"
    registers | grep "^$kernel:" >"$dir/registers"
    awk -v most="$most" -v stack="$stack" '$2 > most || $3 > stack { bad = 1 } END { exit bad || NR != 1 }' "$dir/registers"
    ok $? "$kernel in $most registers: $(cat "$dir/registers"), a stack of at most $stack bytes" "$dir/registers"
done <<'END'
calls 32 136
bulk 42 72
pingpong 32 64
syncs 50 0
END
plan
