#!/usr/bin/env bash
# trace.sh - oshcc --race with SHMEM_TRACE: the trace has an arrow from the earlier access of each reported race to the later one, over the node and the
# network, and also where the first report ends the job.
#
# Catches: an arrow from or to another call, PE or thread than the report names; one that goes back in time; a race without one; slices of a thread
# that overlap without one being inside the other, which viewers refuse.
. "${top_srcdir:=.}/test/tap.sh"
[ -f "$top_builddir/.libs/libfulmar_race.so" ] || skip_all "libfulmar_race needs on_exit of glibc"
command -v python3 >/dev/null || skip_all "python3 is not installed"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
info=$top_builddir/src/tools/oshinfo

cat >"$work/app.c" <<'EOF'
#include <pthread.h>
#include <shmem.h>
static int x, y, z;
static void *put(void *arg)
{
    shmem_int_p(&z, 1, 1); /* by thread 1 of PE 0, at line 6 */
    return arg;
}
int main(void)
{
    int given;
    pthread_t thread;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &given);
    int me = shmem_my_pe();
    for (int i = 0; i < 3; i++) {
        shmem_barrier_all();
        if (me == 0)
            shmem_int_p(&x, 42, 1);
    }
    shmem_sync_all();
    int seen = me == 1 ? x : 0;
    shmem_barrier_all();
    if (me == 1)
        y = seen;
    shmem_barrier_all();
    if (me == 2)
        shmem_int_p(&y, 1, 1);
    if (me == 2)
        shmem_int_get(&seen, &y, 1, 1);
    if (me == 0) {
        pthread_create(&thread, NULL, put, NULL);
        pthread_join(thread, NULL);
    }
    shmem_sync_all();
    if (me == 2)
        shmem_int_p(&z, 2, 1);
    shmem_finalize();
    return 0;
}
EOF
$OSHCC --race -O1 -w "$work/app.c" -o "$work/app" -lpthread >"$work/log" 2>&1
ok $? "the program compiles" "$work/log"

# arrows FILE ARROW...: the arrows, as PE SOURCE ROUTINE PE SOURCE ROUTINE, are these and no others.
arrows() {
    python3 - "$@" <<'EOF'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
ns = lambda us: round(us * 1000)
for a in slices:
    for b in slices:
        if (a["pid"], a["tid"]) == (b["pid"], b["tid"]):
            a1, a2, b1, b2 = ns(a["ts"]), ns(a["ts"] + a["dur"]), ns(b["ts"]), ns(b["ts"] + b["dur"])
            assert a2 <= b1 or b2 <= a1 or a1 <= b1 and b2 <= a2 or b1 <= a1 and a2 <= b2, (a, b)
puts = [e["ts"] for e in slices if e["name"] == "shmem_ctx_int_p" and (e["pid"], e["tid"]) == (0, 1)]
def at(end):
    of = [e for e in slices if e["cat"] == "race" and (e["pid"], e["tid"], e["ts"]) == (end["pid"], end["tid"], end["ts"])]
    assert len(of) == 1, (end, of)
    return of[0]
def text(access): # and the call in it, which has a context
    source, routine = access["name"][len("race: "):].split(" ", 1)
    calls = [e["name"].replace("_ctx", "") for e in slices if e["cat"] != "race" and (e["pid"], e["tid"]) == (access["pid"], access["tid"]) and
             access["ts"] <= e["ts"] and ns(e["ts"] + e["dur"]) <= ns(access["ts"] + access["dur"])]
    assert calls == ([routine] if routine.startswith("shmem") else []), (access, calls)
    return f'{access["pid"]} {source} {routine}'
starts = {e["id"]: e for e in events if e["ph"] == "s" and e["cat"] == "race"}
ends = {e["id"]: e for e in events if e["ph"] == "f" and e["cat"] == "race"}
assert starts.keys() == ends.keys()
assert all(starts[i]["ts"] <= ends[i]["ts"] for i in starts), (starts, ends)
found = sorted(text(at(starts[i])) + " " + text(at(ends[i])) for i in starts)
assert found == sorted(sys.argv[2:]), found
of_x = [e["ts"] for e in starts.values() if (e["pid"], e["tid"]) == (0, 1)]
assert len(puts) == 3 and of_x[0] > sorted(puts)[1], (puts, of_x) # the last put
tids = {e["tid"] for e in starts.values() if e["pid"] == 0}
assert len(sys.argv) < 4 or len(tids) == 2, tids # PE 0's two threads
EOF
}

for transport in auto ofi; do
    SHMEM_TRANSPORT=$transport SHMEM_TRACE=$work/t.json timeout -k 5 100 $OSHRUN -n 3 "$work/app" >"$work/out" 2>&1
    [ $? -eq 66 ] && [ "$(grep -c '^fulmar race:' "$work/out")" -eq 3 ] &&
        arrows "$work/t.json" "0 app.c:18 shmem_int_p 1 app.c:21 load" "2 app.c:27 shmem_int_p 2 app.c:29 shmem_int_get" \
            "0 app.c:6 shmem_int_p 2 app.c:36 shmem_int_p" >>"$work/out" 2>&1
    ok $? "arrows of three races, SHMEM_TRANSPORT=$transport" "$work/out"
done

SHMEM_RACE=abort SHMEM_TRACE=$work/a.json timeout -k 5 100 $OSHRUN -n 3 "$work/app" >"$work/out" 2>&1
[ $? -eq 66 ] && "$info" --join "$work/a.json" >>"$work/out" 2>&1 && arrows "$work/a.json" "0 app.c:18 shmem_int_p 1 app.c:21 load" >>"$work/out" 2>&1
ok $? "SHMEM_RACE=abort, and the parts are joined later" "$work/out"
plan
