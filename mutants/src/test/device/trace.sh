#!/usr/bin/env bash
# trace.sh - kernels and their requests in a trace (SHMEM_TRACE), and the arrows from kernels' puts to waits of the host.
#
# Catches: a kernel without an end, kernels of one queue that overlap, requests that are lost or counted as time of the program, two
# requests of one lane at the same time, a request that ends when it is issued.
. "${top_srcdir:=.}/test/device/run.sh"

cat > "$work/trace.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void first(SHMEMG_GLOBAL uint64_t *w, uint64_t value)
{
    if (shmemg_global_id(0) == 0)
        for (int i = 0; i < 8; i++)
            shmemg_putmem_signal(w + 8 + 8 * i, w, 64, w + 1, value + i, SHMEM_SIGNAL_SET, 0);
}
SHMEMG_KERNEL void second(SHMEMG_GLOBAL uint64_t *w, uint64_t value)
{
    if (shmemg_global_id(0) == 0)
        w[0] = value;
}
END
cat > "$work/trace.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
static uint64_t go;
/* In each round kernels of PE 1 put to PE 0, which waits for them. */
int main(void)
{
    shmem_init();
    uint64_t *w = shmemg_calloc(100, sizeof *w), value = 1;
    const size_t one[3] = {1, 1, 1}, bytes[2] = {sizeof w, sizeof value};
    void *const args[2] = {&w, &value};
    int bad = 0;
    for (int round = 0; round < 10; round++, value += 8) {
        if (shmem_my_pe() == 0) {
            shmem_uint64_p(&go, value, 1);
            shmem_signal_wait_until(w + 1, SHMEM_CMP_EQ, value + 7);
        } else {
            shmem_uint64_wait_until(&go, SHMEM_CMP_EQ, value);
            bad |= shmemx_launch("first", one, one, args, bytes, 2) || shmemx_launch("second", one, one, args, bytes, 2);
        }
    }
    bad |= shmemx_device_sync();
    shmem_barrier_all();
    shmem_finalize();
    return bad;
}
END
"$OSHCC" "$work/trace.c" "$work/trace.cl" -o "$work/trace" 2> "$work/log"
ok $? "the program is compiled" "$work/log"
for private in $privates; do
    export ZE_CPU_PRIVATE=$private SHMEM_STATS=$work/s.json SHMEM_TRACE=$work/t.json
    run 2 0 "$work/trace" && python3 - "$work/t.json" "$work/s.json" > "$work/log" 2>&1 << 'END'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
def track(name): return [e for e in events if e["ph"] == "X" and names.get((e["pid"], e["tid"])) == name]
def check_lane(lane):
    ends = 0
    for e in sorted(lane, key=lambda e: e["ts"]):
        assert e["ts"] >= ends - 0.001, lane
        ends = e["ts"] + e["dur"]
kernels, requests = track("kernels"), track("requests of kernels")
assert [k["name"] for k in sorted(kernels, key=lambda k: k["ts"])] == ["first", "second"] * 10 and {k["pid"] for k in kernels} == {1}, kernels
assert all(k["cat"] == "kernel" and k["dur"] > 0 for k in kernels), kernels
assert {(r["pid"], r["name"], r["args"]["bytes"], r["args"]["to"], r["args"]["by"]) for r in requests} == {(1, "kernel_put_signal", 72, 0, "ring")}, requests
assert len(requests) == 80, requests
check_lane(kernels)
for tid in {r["tid"] for r in requests}:
    check_lane([r for r in requests if r["tid"] == tid])
def call(end): return [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (end["pid"], end["tid"]) and e["ts"] <= end["ts"] <= e["ts"] + e["dur"]]
starts = {e["id"]: e for e in events if e["ph"] == "s"}
arrows = [(call(starts[f["id"]]), call(f)) for f in events if f["ph"] == "f" and f["pid"] == 0]
assert arrows and all(put[-1] in requests and wait[0]["name"] == "shmem_signal_wait_until" for put, wait in arrows), arrows
assert len({id(wait[0]) for _, wait in arrows}) == len(arrows), arrows
stats = json.load(open(sys.argv[2]))[1]
assert stats["families"]["signal"] == {"calls": 80, "bytes": 5760, "ns": 0} and stats["ways"]["ring"]["calls"] == 80, stats
END
    ok $? "kernels and requests have tracks, and arrows lead from kernels' puts to waits (private $private)" "$work/log"
done
plan
