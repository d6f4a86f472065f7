#!/usr/bin/env bash
# cost.sh - what a kernel's call does to memory, as the drivers on the CPU count it (ZE_CPU_COUNT): loads, stores and atomic updates of the
# device's and the host's memory, and fences. On a GPU they are the call's time: on an H200 a load of host memory takes 1.11 us, a system
# fence or release 0.50, an update 0.29, a load of the device's memory 0.02 (L1) to 0.11, and a call's loop 0.12. The lines before the
# results show the times that these predict, with loads from L1, beside those measured on 2026-11-27 at 5bdcd21.
. "${top_srcdir:=.}/test/device/run.sh"
export SHMEM_DEVICE_SYMMETRIC_SIZE=8M ZE_CPU_COUNT=1 ZE_CPU_PRIVATE=1

cat > "$work/call.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void call(SHMEMG_GLOBAL uint64_t *w, int what, int pe)
{
    switch (what) {
    case 0: shmemg_uint64_p(w, 1, pe); break;
    case 1: w[3] = shmemg_uint64_g(w, pe); break;
    case 2: shmemg_uint64_put(w, w + 1, 1, pe); break;
    case 3: shmemg_uint64_put_signal_nbi(w, w + 1, 1, w + 2, 1, SHMEM_SIGNAL_SET, pe); break;
    case 4: w[3] = shmemg_uint64_atomic_fetch_add(w, 1, pe); break;
    case 5: shmemg_uint64_atomic_add(w, 1, pe); break;
    case 6: shmemg_fence(); break;
    case 7: shmemg_quiet(); break;
    case 8: shmemg_uint64_p(w, 1, pe); shmemg_quiet(); break;
    case 9: shmemg_uint64_p(w, 1, pe); shmemg_fence(); break;
    }
}
END
cat > "$work/call.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    shmem_init();
    uint64_t *w = shmemg_calloc(8, 8);
    int what = atoi(argv[argc - 1]), me = shmem_my_pe();
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 4, 4};
    int bad = shmemx_launch("call", one, one, (void *[]){&w, &what, &me}, bytes, 3) || shmemx_device_sync();
    shmem_finalize();
    return bad;
}
END
compile_ways call

# Catches: a load of host memory, an update or a fence more than a call needs.
while read -r direct what most_own most_host most_stores most_host_stores most_updates most_fences measured name; do
    for way in $ways; do
        use_way "$way"
        SHMEM_DEVICE_DIRECT=$direct timeout 60 "$work/call-${way%:*}" "$what" > "$work/log" 2>&1
        status=$?
        read -r own host stores host_stores updates fences <<< "$(sed -n 's/.*kernel call: \(.*\)/\1/p' "$work/log" | tr -d , | awk '
            { n[$1 "own"] = $3; n[$1 "peer"] = $5; n[$1 "host"] = $7 }
            $1 == "fences" { f = $2 }
            END { print n["loadsown"] + 0, n["loadshost"] + 0, n["storesown"] + 0, n["storeshost"] + 0, n["updatesown"] + n["updateshost"], f + 0 }')"
        echo "# ${way%:*} direct=$direct $name: loads $own, of host memory $host, stores $stores, to host memory $host_stores, updates $updates, fences $fences:" \
            "$(awk "BEGIN { printf \"%.2f\", 0.12 + 0.02 * $own + 1.11 * $host + 0.29 * $updates + 0.5 * $fences }") us; measured: $measured"
        [ $status -eq 0 ] && grep -q 'kernel call: fences' "$work/log" && [ "$own" -le "$most_own" ] && [ "$host" -le "$most_host" ] &&
            [ "$stores" -le "$most_stores" ] && [ "$host_stores" -le "$most_host_stores" ] && [ "$updates" -le "$most_updates" ] &&
            [ "$fences" -le "$most_fences" ]
        ok $? "${way%:*}, direct=$direct: $name" "$work/log"
    done
done << 'END'
1 0 8 0 1 0 0 0 0.33 p
1 1 9 0 1 0 0 0 0.46 g
1 2 9 0 1 0 0 0 0.90 put of 8 bytes
1 3 13 0 2 0 0 1 1.41 put_signal_nbi of 8 bytes
1 4 9 0 1 0 1 0 0.60 fetch_add
1 5 9 0 0 0 1 0 0.37 add
1 6 5 0 0 0 0 1 1.11 fence
1 7 4 0 0 0 0 1 2.93 quiet
1 8 12 0 1 0 0 1 3.41 p and quiet
0 0 18 0 0 8 1 0 3.15 p
0 2 19 0 0 8 1 0 3.08 put of 8 bytes
0 3 23 0 0 8 1 0 11.9 put_signal_nbi of 8 bytes
0 6 5 0 0 0 0 1 1.10 fence
0 7 4 0 0 0 0 1 2.78 quiet
0 9 23 0 0 8 2 1 - p and fence
END
plan
