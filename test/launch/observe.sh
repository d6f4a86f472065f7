#!/bin/sh
# observe.sh - SHMEM_STATS and SHMEM_TRACE: the files have exactly the program's operations, also when a PE is killed, and
# programs behave the same with them. Catches: a call counted twice or not at all, gaps of strides counted as bytes,
# team numbers taken for world numbers, invalid JSON, an operation with another result on the slow path.
. "${top_srcdir:=.}/test/tap.sh"
observe=$top_builddir/test/launch/observe
info=$top_builddir/src/tools/oshinfo
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

SHMEM_STATS=$dir/stats.json $OSHRUN -n 3 "$observe" >"$dir/out" 2>&1 && python3 - "$dir/stats.json" >>"$dir/out" 2>&1 <<'EOF'
import json, sys
pes = json.load(open(sys.argv[1]))
assert [p["pe"] for p in pes] == [0, 1, 2], pes
for p in pes:
    me, right = p["pe"], (p["pe"] + 1) % 3
    def family(name): return p["families"][name]["calls"], p["families"][name]["bytes"]
    def to(pe, name): return next(((t[name]["calls"], t[name]["bytes"]) for t in p["to"] if t["pe"] == pe and name in t), None)
    assert family("put") == (12, 8000 + 8 + 40) == to(right, "put"), p
    assert family("get") == (2, 40), p
    assert to(right, "get") == ((2, 40) if right == 0 else (1, 8)), p
    assert family("atomic") == (2, 16) == to(0, "atomic"), p
    assert family("signal") == (1, 24) == to(right, "signal"), p
    assert family("collective") == (1, 48) and to(right, "collective") == (1, 24) and to(me, "collective") is None, p
    assert [family(f)[0] for f in ("barrier", "wait", "order", "lock", "memory")] == [1, 1, 1, 0, 0], p
    assert p["ways"]["stores"]["calls"] == 12 + 2 + 2 + 1 + 2 and p["ways"]["ring"]["calls"] == 0, p
    assert p["families"]["put"]["ns"] > 0 and p["ns"] > p["families"]["put"]["ns"], p
EOF
ok $? "SHMEM_STATS=file counts calls, bytes and targets" "$dir/out"

SHMEM_STATS="$dir/of_%p.json" $OSHRUN -n 2 "$observe" >"$dir/out" 2>&1 &&
    python3 -c 'import json, sys; assert [json.load(open(f))["pe"] for f in sys.argv[1:]] == [0, 1]' \
        "$dir/of_0.json" "$dir/of_1.json" >>"$dir/out" 2>&1
ok $? "%p in the file's name gives one file per PE" "$dir/out"

SHMEM_STATS=all $OSHRUN -n 2 "$observe" >"$dir/out" 2>&1 &&
    grep -Eq '^fulmar: PE 1: put +12 +7.86 KiB .* ms +to PE 0 7.86 KiB$' "$dir/out" &&
    grep -Eq '^fulmar: PE 0: by stores +18 ' "$dir/out"
ok $? "SHMEM_STATS=all prints the statistics of each PE" "$dir/out"

# Catches: values of one PE taken for all, a PE that is not the slowest, routines of PEs that are not added up, a row of nothing.
SHMEM_STATS=1 $OSHRUN -n 4 "$observe" late >"$dir/out" 2>&1 && python3 - "$dir/out" >>"$dir/out" 2>&1 <<'EOF'
import re, sys
lines = [l[8:].rstrip() for l in open(sys.argv[1]) if l.startswith("fulmar: ")]
assert re.fullmatch(r"4 PEs, [0-9.]+ ms from init to finalize", lines[0]), lines
rows = {l.split()[0]: l.replace("|", " ").split()[1:] for l in lines[2:] if "|" in l}
assert set(rows) == {"put", "get", "atomic", "signal", "collective", "barrier", "wait", "order"}, rows
assert rows["put"][:3] == ["48", "31.4", "KiB"] and rows["signal"][:3] == ["4", "96", "B"] and rows["barrier"][:2] == ["8", "-"], rows
least, median, most, pe, ratio = rows["barrier"][2:]
assert float(least) < float(median) <= float(most) and float(median) > 100 and pe != "3" and float(ratio) > 1.05, rows # PE 3 comes last
waiting = re.search(r"waiting .*: ([0-9.]+) % .*, ([0-9.]+) % to ([0-9.]+) % \(PE (\d)\)", "\n".join(lines))
assert float(waiting[2]) <= float(waiting[1]) <= float(waiting[3]) <= 100 and waiting[4] != "3", lines
assert any(re.match(r"ways: 80 calls by stores with", l) for l in lines), lines
pairs = next(l for l in lines if l.startswith("most bytes: "))
assert len(re.findall(r"PE \d with PE \d", pairs)) == 5 and pairs.startswith("most bytes: PE 3 with PE 0 7.96 KiB"), lines
assert any(re.match(r"shmem_barrier_all +8 calls, [0-9.]+ ms in PE [012], the longest [0-9.]+ ms in PE [012]", l) for l in lines), lines
assert any(l.startswith("shmem_long_fcollect ") and " 4 calls" in l for l in lines), lines
EOF
ok $? "SHMEM_STATS=1 prints a table of all PEs" "$dir/out"

# trace FILE PEs: check that FILE is JSON and has the events of each PE, with time and target.
trace() {
    python3 - "$1" "$2" >>"$dir/out" 2>&1 <<'EOF'
import json, sys
n = int(sys.argv[2])
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
for pe in range(n):
    mine = [e for e in events if e["pid"] == pe]
    names = [e["name"] for e in mine]
    names = names[: names.index("shmem_long_fcollect") + 1] # a killed job may have more events
    assert names.count("shmem_long_put") == 10 and names.count("shmem_long_fcollect") == 1, names
    assert len(names) == 12 + 2 + 2 + 1 + 1 + 1 + 1 + 1, names
    assert all(e["args"]["to"] == (pe + 1) % n and e["args"]["bytes"] == 800 for e in mine if e["name"] == "shmem_long_put")
    ends = [e["ts"] + e["dur"] for e in mine]
    assert ends == sorted(ends) and all(e["dur"] >= 0 and e["ts"] >= 0 for e in mine), mine
EOF
}

SHMEM_TRACE=$dir/trace.json $OSHRUN -n 3 "$observe" >"$dir/out" 2>&1 && trace "$dir/trace.json" 3 && [ -z "$(ls "$dir"/*.part 2>/dev/null)" ]
ok $? "SHMEM_TRACE=file writes one file with every PE's events" "$dir/out"

# Catches: an arrow between other PEs or calls than the program's, one that goes back in time, a wait with two, none at all.
arrows() { # FILE PEs LEAST: at least so many of the flag's arrows
    python3 - "$@" >>"$dir/out" 2>&1 <<'EOF'
import json, sys
n, least = int(sys.argv[2]), int(sys.argv[3])
events = json.load(open(sys.argv[1]))["traceEvents"]
def at(end): # the call that the arrow starts or ends in
    found = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (end["pid"], end["tid"]) and e["ts"] <= end["ts"] <= e["ts"] + e["dur"]]
    return found[-1] if end["ph"] == "s" else found[0]
starts, ends = ({e["id"]: e for e in events if e["ph"] == ph} for ph in "sf")
assert starts.keys() == ends.keys(), (starts, ends)
arrows = [(at(starts[i]), at(ends[i])) for i in starts]
assert len({id(w) for _, w in arrows}) == len({id(p) for p, _ in arrows}) == len(arrows), arrows
kinds = {}
for put, wait in arrows:
    assert put["args"]["to"] == wait["pid"] and put["ts"] <= wait["ts"] + wait["dur"], (put, wait)
    kinds.setdefault(put["name"], []).append((put["pid"], wait["pid"], wait["name"]))
ring = sorted((pe, (pe + 1) % n, "shmem_long_wait_until") for pe in range(n) for _ in range(5))
assert sorted(kinds.pop("shmem_long_p")) == ring, kinds
flags = kinds.pop("shmem_int_atomic_set")
assert len(flags) >= least and all(q == (p + 1) % n and name == "shmem_int_wait_until" for p, q, name in flags), flags
assert kinds.pop("shmem_long_put") == [(0, 1, "shmem_long_wait_until")], kinds
assert all(q == 0 for _, q, _ in kinds.pop("shmem_int_atomic_add", [])) and not kinds, kinds
EOF
}
SHMEM_TRACE=$dir/arrows.json $OSHRUN -n 3 "$observe" arrows >"$dir/out" 2>&1 && arrows "$dir/arrows.json" 3 1
ok $? "arrows from puts to the waits that they end" "$dir/out"
SHMEM_TRANSPORT=ofi SHMEM_TRACE=$dir/arrows.json $OSHRUN -n 3 "$observe" arrows >"$dir/out" 2>&1 && arrows "$dir/arrows.json" 3 0
ok $? "the same over the network, where the clocks of nodes have to be compared" "$dir/out"

SHMEM_TRACE=$dir/dead.json $OSHRUN -n 2 "$observe" die >"$dir/out" 2>&1
[ $? -eq 137 ] && "$info" --join "$dir/dead.json" >>"$dir/out" 2>&1 && trace "$dir/dead.json" 2 && [ ! -e "$dir/dead.json.1.part" ]
ok $? "no event is lost when a PE is killed" "$dir/out"

: >"$dir/junk.json.0.part"
"$info" --join "$dir/junk.json" >"$dir/out" 2>&1
[ $? -eq 1 ] && [ "$(wc -l <"$dir/out")" -eq 1 ]
ok $? "a file that is not part of a trace is refused with one line" "$dir/out"

SHMEM_TRACE=$dir/no/where.json $OSHRUN -n 2 "$observe" >"$dir/out" 2>&1
[ $? -ne 0 ] && grep -q '^fulmar: PE .*SHMEM_TRACE=.*No such file' "$dir/out"
ok $? "a trace that cannot be written fails the start of the job" "$dir/out"

# Fewer slots than events: the newest events remain.
SHMEM_TRACE=$dir/small.json:1 $OSHRUN -n 2 "$observe" many >"$dir/out" 2>&1 && python3 - "$dir/small.json" >>"$dir/out" 2>&1 <<'EOF'
import json, sys
names = [e["name"] for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X" and e["pid"] == 1]
assert len(names) == 16384 and names[-1] == "shmem_long_fcollect" and names[0] == "shmem_long_p", (len(names), names[0], names[-1])
EOF
[ $? -eq 0 ] && grep -q 'small.json:SIZE gives more room' "$dir/out"
ok $? "a trace above the size that SHMEM_TRACE gives keeps the newest events and reports it" "$dir/out"

# A full disk, which the first or the second PE notices. Catches: a silently truncated file, a line from every PE, a job that hangs or
# succeeds.
one_line() { # status, setting's name
    [ "$1" -eq 1 ] && [ "$(grep -c '^fulmar:' "$dir/out")" -eq 1 ] && grep -q "^fulmar: PE [01]: $2=.*: No space left on device" "$dir/out"
}
SHMEM_STATS=/dev/full timeout -k 5 60 $OSHRUN -n 3 "$observe" >"$dir/out" 2>&1
one_line $? SHMEM_STATS
ok $? "statistics on a full disk: one line and status 1" "$dir/out"
if unshare -rm mount -t tmpfs none "$dir" 2>/dev/null; then
    mkdir "$dir/disk"
    for size in 64k 3m; do # too small for the first events; for later events and the joined file
        # shellcheck disable=SC2016
        unshare -rm sh -c 'mount -t tmpfs -o size=$0 none "$1" && SHMEM_TRACE=$1/t.json timeout -k 5 60 $OSHRUN -n 2 "$2" many' \
            $size "$dir/disk" "$observe" >"$dir/out" 2>&1
        one_line $? SHMEM_TRACE
        ok $? "a trace on a disk of $size: one line and status 1" "$dir/out"
    done
else
    skip "a trace on a full disk" "no permission to mount a file system"
fi

for program in conf/rma conf/amo conf/signal conf/coll multi/team multi/lock multi/thread multi/device multi/device_private; do
    [ -x "$top_builddir/test/$program.pes" ] || continue
    SHMEM_STATS=$dir/s.json SHMEM_TRACE=$dir/t.json:4M timeout -k 5 120 $OSHRUN -n 3 "$top_builddir/test/$program.pes" >"$dir/out" 2>&1 &&
        ! grep -q '^not ok' "$dir/out" && grep -q '^ok' "$dir/out" && python3 -m json.tool "$dir/s.json" >"$dir/pretty" 2>>"$dir/out"
    ok $? "$program passes with statistics and a trace" "$dir/out"
done
plan
