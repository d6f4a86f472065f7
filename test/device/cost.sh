#!/usr/bin/env bash
# cost.sh - what each call of a kernel does: bench/device_cost counts it, and its lines before the results have the time that a GPU needs
# for it. Pinned are loads of the device's and the host's memory, stores, atomic updates and fences of one work-item's call, direct and by
# the ring, and the fences and loads of a group's; and how many loads of memory that is not constant wait for each other.
. "${top_srcdir:=.}/test/device/run.sh"
nvcc=
if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then nvcc=--nvcc; fi
if ! command -v python3 > /dev/null; then
    echo "1..0 # SKIP bench/device_cost needs python3"
    exit 0
fi
sycl= # its calls are compiled for half a minute: some of them
if find_sycl "$work/jit"; then sycl="--sycl nothing,p,g,put_8,put_1024,put_signal_8,fetch_add,fence,quiet,pe_fence,pe_quiet,flush,p_and_quiet,put_signal_1024_tg,quiet_tg"; else skip "kernels as SYCL" "$no_sycl"; fi
# shellcheck disable=SC2086
OSHCXX=$OSHCXX "$top_srcdir/bench/device_cost" --oshcc "$OSHCC" --lines $nvcc $sycl > "$work/lines" 2> "$work/log"
ok $? "the kernels compile and run" "$work/log"
sed 's/^/# /' "$work/lines"

# In SYCL a context is in a block of device memory; in the others in a variable of the module, whose loads are not counted here.
# Catches: a load of host memory, an update, a fence or a store more than a call needs; a message without its four packets.
while read -r way name device atomic host stores to_host updates fences; do
    kinds=spirv,cuda what="$way $name"
    if [ "${way#sycl-}" != "$way" ]; then
        [ "$sycl" ] || continue
        kinds=sycl what="SYCL, ${way#sycl-} $name" way=${way#sycl-}
    fi
    awk -v kinds="$kinds" -v way="$way" -v name="$name" -v most="$device $atomic $host $stores $to_host $updates $fences" '
        BEGIN { split(most, m, " ") }
        index(kinds, $1) && $2 == way && $3 == name { n++; for (i = 1; i <= 7; i++) if (m[i] != "-" && $(i + 4) > m[i]) { bad++; print } }
        END { exit !n || bad > 0 }' "$work/lines" > "$work/log"
    ok $? "$what: at most $device loads, $atomic atomic, $host of host memory, $stores stores, $to_host to host memory, $updates updates, $fences fences" "$work/log"
done << 'END'
direct p 0 0 0 1 0 0 0
direct p_of_4_bytes 0 0 0 1 0 0 0
direct g 0 1 0 1 0 0 0
direct put_8 1 0 0 1 0 0 0
direct put_nbi_8 1 0 0 1 0 0 0
direct get_8 1 0 0 1 0 0 0
direct put_1024 64 0 0 64 0 0 0
direct put_signal_8 1 0 0 2 0 0 1
direct signal_add 0 0 0 0 0 1 1
direct fetch_add 0 0 0 1 0 1 0
direct add 0 0 0 0 0 1 0
direct cswap 0 0 0 1 0 1 0
direct signal_fetch 0 1 0 1 0 0 0
direct wait_until 0 1 0 0 0 0 0
direct test 0 1 0 1 0 0 0
direct fence 0 1 0 0 0 0 1
direct quiet 0 1 0 0 0 0 1
direct pe_fence 0 1 0 0 0 0 1
direct pe_quiet 0 1 0 0 0 0 1
direct flush 0 1 0 0 0 0 1
direct p_and_flush 0 1 0 1 0 0 1
direct p_and_fence 0 1 0 1 0 0 1
direct p_and_quiet 0 1 0 1 0 0 1
direct put_signal_1024_tg - - 0 - 0 0 1
direct fence_tg 0 1 0 0 0 0 1
direct quiet_tg 0 1 0 0 0 0 1
direct fence_htg 0 2 0 0 0 0 2
direct quiet_htg 0 2 0 0 0 0 2
ring p 3 2 0 0 4 1 0
ring put_8 4 2 0 0 4 1 0
ring put_signal_8 5 2 0 0 4 1 0
ring add 3 2 0 0 4 1 0
ring signal_add 3 2 0 0 4 1 0
ring fence 0 1 0 0 0 1 1
ring pe_fence 3 1 0 0 0 1 1
ring pe_quiet 4 2 - 2 0 1 1
ring flush 1 2 - 2 0 1 1
ring p_and_fence 3 3 0 0 4 2 1
ring quiet 1 2 - 2 0 1 1
ring put_signal_1024_tg - 2 0 0 4 1 1
sycl-direct p 5 0 0 1 0 0 0
sycl-direct g 5 1 0 1 0 0 0
sycl-direct put_8 6 0 0 1 0 0 0
sycl-direct put_1024 69 0 0 64 0 0 0
sycl-direct put_signal_8 7 0 0 2 0 0 1
sycl-direct fetch_add 6 0 0 1 0 1 0
sycl-direct fence 3 1 0 0 0 0 1
sycl-direct quiet 3 1 0 0 0 0 1
sycl-direct pe_fence 3 1 0 0 0 0 1
sycl-direct pe_quiet 3 1 0 0 0 0 1
sycl-direct flush 2 1 0 0 0 0 1
sycl-direct p_and_quiet 8 1 0 1 0 0 1
sycl-direct put_signal_1024_tg - - 0 - 0 0 1
sycl-direct quiet_tg 130 1 0 0 0 0 1
sycl-ring p 15 2 0 0 4 1 0
sycl-ring put_8 16 2 0 0 4 1 0
sycl-ring put_signal_8 18 2 0 0 4 1 0
sycl-ring fence 3 1 0 0 0 1 1
sycl-ring quiet 4 2 - 2 0 1 1
sycl-ring put_signal_1024_tg - 2 0 0 4 1 1
END

# Catches: in SYCL a copy of memory, which is not counted, in place of a load and a store for each 16 bytes: six times as slow.
if [ "$sycl" ]; then
    awk '$1 == "sycl" && $2 == "direct" && $3 == "put_signal_1024_tg" { n = $8; print } END { exit n < 64 }' "$work/lines" > "$work/log"
    ok $? "SYCL, direct put_signal_1024_tg: 64 stores of 16 bytes" "$work/log"
    # Catches: a copy's loop that takes more instructions in SYCL than in OpenCL C.
    awk '$2 == "direct" && $3 ~ /^(p|g|put_8|put_1024|put_signal_8)$/ { of[$1, $3] = $12; if ($1 == "sycl") name[$3] }
        END { for (n in name) { rows++; print n, of["sycl", n], of["spirv", n]; if (of["sycl", n] > 1.1 * of["spirv", n]) bad++ } exit rows != 5 || bad > 0 }' \
        "$work/lines" > "$work/log"
    ok $? "SYCL, direct: at most 1.1 times the instructions of OpenCL C" "$work/log"
fi

# Catches: a load whose address another load of the same call gives, such as a table that is found through a pointer.
while read -r kinds way most; do
    [ "$sycl" ] || [ $kinds != sycl ] || continue
    awk -v kinds="$kinds" -v way="$way" -v most="$most" 'index(kinds, $1) && $2 == way { n++; if ($13 > most) { bad++; print } } END { exit !n || bad > 0 }' "$work/lines" > "$work/log"
    ok $? "$kinds, $way: no call has a chain of more than $most loads" "$work/log"
done << 'END'
spirv,cuda direct 1
spirv,cuda ring 2
sycl direct 3
sycl ring 3
END

# Catches: chains that are not followed through arithmetic, functions, loops and atomic updates, or that grow with each load.
cat > "$work/chain.cl" << 'END'
#include <shmemg.h>
static __attribute__((noinline)) SHMEMG_DEVICE uint64_t next(SHMEMG_GLOBAL uint64_t *w, uint64_t i) { return w[i * 2 & 7]; }
SHMEMG_KERNEL void cost_chain(SHMEMG_GLOBAL uint64_t *w, int pe)
{
    uint64_t i = next(w, w[8 + pe]), sum = 0;
    for (uint64_t k = 0; k < 4; k++)
        sum += w[i + k & 7];
    w[16] = next(w, shmemg_uint64_atomic_fetch_add(w + (sum & 7), 1, pe));
}
END
for kind in ${nvcc:+cuda} spirv; do
    device=
    [ $kind = spirv ] || device=cuda-cpu
    $OSHCC $([ $kind = spirv ] || echo --kernels=cuda) -O2 "$top_srcdir/bench/device_cost.c" "$work/chain.cl" -o "$work/chain" > "$work/log" 2>&1 &&
        SHMEM_DEVICE=$device ZE_CPU_COUNT=1 ZE_CPU_PRIVATE=1 SHMEM_DEVICE_SYMMETRIC_SIZE=8M "$work/chain" cost_chain > "$work/log" 2>&1 &&
        grep -q 'kernel cost_chain: fences 0, .*, loads in a chain 5$' "$work/log"
    ok $? "$kind: five loads in a chain are counted" "$work/log"
done
plan
