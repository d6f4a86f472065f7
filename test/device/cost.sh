#!/usr/bin/env bash
# cost.sh - what each call of a kernel does: bench/device_cost counts it, and its lines before the results have the time that a GPU needs
# for it. Pinned are loads of the device's and the host's memory, stores, atomic updates and fences of one work-item's call, direct and by
# the ring, and the fences and loads of a group's.
. "${top_srcdir:=.}/test/device/run.sh"
nvcc=
if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then nvcc=--nvcc; fi
if ! command -v python3 > /dev/null; then
    echo "1..0 # SKIP bench/device_cost needs python3"
    exit 0
fi
"$top_srcdir/bench/device_cost" --oshcc "$OSHCC" --lines $nvcc > "$work/lines" 2> "$work/log"
ok $? "the kernels compile and run" "$work/log"
sed 's/^/# /' "$work/lines"

# Catches: a load of host memory, an update, a fence or a store more than a call needs; a message without its four packets.
while read -r way name device atomic host stores to_host updates fences; do
    awk -v way="$way" -v name="$name" -v most="$device $atomic $host $stores $to_host $updates $fences" '
        BEGIN { split(most, m, " ") }
        $2 == way && $3 == name { n++; for (i = 1; i <= 7; i++) if (m[i] != "-" && $(i + 4) > m[i]) { bad++; print } }
        END { exit !n || bad > 0 }' "$work/lines" > "$work/log"
    ok $? "$way $name: at most $device loads, $atomic atomic, $host of host memory, $stores stores, $to_host to host memory, $updates updates, $fences fences" "$work/log"
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
ring p_and_fence 3 3 0 0 4 2 1
ring quiet 1 2 - 2 0 1 1
ring put_signal_1024_tg - 2 0 0 4 1 1
END
plan
