#!/bin/sh
# bench.sh - the benchmarks compile and run, and bench/report draws their results. Catches: a program that no longer
# builds, a page that is not well-formed, inverted ratios, an installed OpenSHMEM that --all does not find, processes that
# outlive their launcher. The test does not judge times.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

"$top_srcdir/bench/compare" --ours "$OSHCC" "$OSHRUN" --rounds 1 --startup-pes 2 --json "$dir/rows.json" rate hello >"$dir/out" 2>&1 &&
    grep -q '^startup ' "$dir/out" && grep -q '^rate_put ' "$dir/out"
ok $? "bench/compare measures" "$dir/out"

# Another OpenSHMEM: ours by another name, whose launcher leaves a process that ignores SIGTERM.
mkdir -p "$dir/peer/bin"
cat >"$dir/peer/bin/oshcc" <<EOF
#!/bin/sh
[ "\$1" = -E ] && echo 'vendor_is "Other SHMEM 1.0"' && exit
exec $OSHCC "\$@"
EOF
cat >"$dir/peer/bin/oshrun" <<EOF
#!/bin/sh
setsid sh -c 'trap "" TERM; echo \$\$ >>$dir/pids; while :; do sleep 0.1; done' >/dev/null 2>&1 &
while [ ! -s $dir/pids ]; do sleep 0.05; done
exec $OSHRUN "\$@"
EOF
chmod +x "$dir/peer/bin/oshcc" "$dir/peer/bin/oshrun"
"$top_srcdir/bench/compare" --all --ours "$OSHCC" "$OSHRUN" --prefix "$dir/peer" --only other-shmem-1-0 --rounds 1 --startup-pes 2 \
    --transports node --json "$dir/all.json" hello >"$dir/out" 2>&1 && grep -q '^other-shmem-1-0: Other SHMEM 1.0, ' "$dir/out" &&
    grep -q ' of 1 rows are behind the best peer' "$dir/out" && grep -q '"best": "other-shmem-1-0"' "$dir/all.json"
ok $? "bench/compare --all finds an installed OpenSHMEM" "$dir/out"
left=
while read -r pid; do ! kill -0 "$pid" 2>/dev/null || left="$left $pid"; done <"$dir/pids"
[ -s "$dir/pids" ] && [ -z "$left" ]
ok $? "it ends processes that outlive their launcher" "$dir/out"
[ -z "$left" ] || kill -9 $left
"$top_srcdir/bench/compare" --all --peer a b 2>"$dir/out"
[ $? -eq 2 ] && grep -q -- '--peer and --all exclude each other' "$dir/out"
ok $? "--all and --peer exclude each other" "$dir/out"

# A launcher that does not end with 3 PEs. Catches: rows that are lost when a script is ended early, a program or its orphan that is
# left then, a run that takes too long and is repeated in each round.
cat >"$dir/slow" <<EOF
#!/bin/sh
[ "\$2" = 3 ] || exec $OSHRUN "\$@"
setsid sleep 600 &
echo \$! >>$dir/slow.pids
sleep 600
EOF
chmod +x "$dir/slow"
slow_left() { # processes of the launcher that still run
    while read -r pid; do ! kill -0 "$pid" 2>/dev/null || echo "$pid"; done <"$dir/slow.pids"
}
for signal in 2 15; do # SIGINT, SIGTERM
    rm -f "$dir/early.json"
    : >"$dir/slow.pids"
    "$top_srcdir/bench/compare" --ours "$OSHCC" "$dir/slow" --startup-pes 2,3 --json "$dir/early.json" hello >"$dir/out" 2>&1 &
    pid=$!
    until_grep . "$dir/slow.pids" && python3 -m json.tool "$dir/early.json" >/dev/null 2>>"$dir/out"
    written=$?
    kill -$signal $pid
    wait $pid
    [ $? -eq $((128 + signal)) ] && [ $written -eq 0 ] && grep -q '^startup .* 2  *s ' "$dir/out" &&
        grep -q '"pes": 2' "$dir/early.json" && [ -z "$(slow_left)" ]
    ok $? "bench/compare that signal $signal ends has written its rows, prints them, and ends its programs" "$dir/out"
done
rm -f "$dir/slow.pids"
"$top_srcdir/bench/compare" --ours "$OSHCC" "$dir/slow" --startup-pes 3,2 --rounds 2 --timeout 2 --json "$dir/late.json" hello >"$dir/out" 2>&1 &&
    [ "$(wc -l <"$dir/slow.pids")" -eq 1 ] && [ -z "$(slow_left)" ] && [ "$(grep -c '"pes"' "$dir/late.json")" -eq 1 ]
ok $? "bench/compare does not repeat a run that took too long" "$dir/out"
rm -f "$dir/pids"
"$top_srcdir/bench/compare" --all --ours "$OSHCC" "$OSHRUN" --prefix "$dir/peer" --only other-shmem-1-0 --rounds 1 --startup-pes 16 --pes 16 \
    --json "$dir/16.json" barrier hello >"$dir/out" 2>&1 && [ "$(grep -c '"ratio"' "$dir/16.json")" -eq 3 ] &&
    [ "$(grep -c '"transport": "network"' "$dir/16.json")" -eq 2 ]
ok $? "bench/compare --all measures 16 PEs, on a node and over a network" "$dir/out"

# Catches: colours in a file or a pipe, a colour that shifts the columns, red for a ratio that is better.
cat >"$dir/colours.py" <<'EOF'
import importlib.machinery, importlib.util, io, os, re, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
loader = importlib.machinery.SourceFileLoader("compare", sys.argv[1])
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
loader.exec_module(compare)
class Terminal(io.StringIO):
    def isatty(self):
        return True
def printed(to):
    sys.stdout, before = to, sys.stdout
    compare.print_lines([["bench", "ours", "peer/ours"], ["slow", "3", "0.50"], ["fast", "0.7", "12.00"], ["even", "1", "1.00"], ["none", "1", "-"]], 1)
    sys.stdout = before
    return to.getvalue()
plain, terminal = printed(io.StringIO()), printed(Terminal())
assert "\033" not in plain and re.sub("\033[^m]*m", "", terminal) == plain
assert re.findall("\033.(3.)m *([0-9.]+)", terminal) == [("31", "0.50"), ("32", "12.00")]
EOF
env -u NO_COLOR python3 "$dir/colours.py" "$top_srcdir/bench/compare" >"$dir/out" 2>&1
ok $? "ratios are coloured on a terminal only" "$dir/out"

# Straight curves, one with a peak at 1 KiB and one with a rise from 4 KiB; the limit of the first has that peak at the next size.
cat >"$dir/curves.py" <<'EOF'
import json, sys
sizes = [2 ** k for k in range(17)]
cost = {"put": lambda n: (1 + n / 1000) * (1.3 if n == 1024 else 1), "get": lambda n: 1 + n / 1000 + (3 if n >= 4096 else 0), "tag": lambda n: 1 + n / 1000,
        "bare_put": lambda n: (1 + n / 1000) * (1.2 if n == 2048 else 1), "bare_get": lambda n: 1 + n / 1000}
json.dump([{"stack": "ours", "transport": "node", "bench": b, "bytes": n, "unit": "us", "median": f(n), "best": f(n)}
           for b, f in cost.items() for n in sizes], open(sys.argv[1], "w"))
EOF
python3 "$dir/curves.py" "$dir/curves.json" && "$top_srcdir/bench/sweep" --rows "$dir/curves.json" --html "$dir/sweep.html" >"$dir/out" 2>&1 &&
    [ "$(sed -n 's/^ours  *node  *//p' "$dir/out" | tr -s ' ' | paste -sd ,)" = \
        'bare_put 2048 B 1.20 peak,get 4096 B 1.59 rise bare 1.00,put 1024 B 1.30 peak bare 1.20' ] &&
    grep -q '^2 of 51 sizes of ours .*, 1 of them in the bare rows, too$' "$dir/out" && [ "$(grep -c 'aria-label' "$dir/sweep.html")" -eq 5 ]
ok $? "bench/sweep finds a peak and a rise, which of them the limit has, and no other size" "$dir/out"
"$top_srcdir/bench/sweep" --ours "$OSHCC" "$OSHRUN" --max 4 put_get tag gpc bare --json "$dir/sweep.json" >"$dir/out" 2>&1 &&
    [ "$(grep -c '"bytes": 4,' "$dir/sweep.json")" -eq 26 ]
ok $? "bench/sweep measures puts, gets, messages, calls and bare libfabric" "$dir/out"
# Collectives of an invented launcher: with several PEs a node the schedule nodes of alltoalls is the fastest from 128 B to 8 KiB.
cat >"$dir/oshrun" <<'EOF'
#!/usr/bin/env python3
import os, sys
args = sys.argv[1:]
places = args[args.index("-H") + 1].split(",") if "-H" in args else []
pes = int(args[args.index("-np") + 1])
each = int(places[0].split(":")[1]) if places else 1
assert not places or pes == each * len(places) and "SHMEM_TRANSPORT" not in os.environ
way = os.environ["SHMEM_COLLECTIVES"].split(":")[-1]
for n in (8, 32, 128, 512, 2048, 8192, 32768):
    us = {"index": 1 + n / 100, "nodes": 2 + n / 1000 if each > 1 else 99, "pairwise": 5 + n / 2000}[way]
    print(f'{{"bench": "nodes", "case": "{args[-1]}", "bytes": {n}, "pes": {pes}, "node": {each}, "us": {us}}}')
EOF
chmod +x "$dir/oshrun"
"$top_srcdir/bench/tune" --ours "$OSHCC" "$dir/oshrun" --rounds 1 --nodes 2,3 --pes 1,2 --hosts a,b,c alltoall >"$dir/out" 2>&1
[ "$(grep -v '^#' "$dir/out" | paste -sd ,)" = "$(for nodes in 2-2 3-; do
    echo "alltoall $nodes 1 -128 index,alltoall $nodes 1 129- pairwise"
    echo "alltoall $nodes 2- -32 index,alltoall $nodes 2- 33-2048 nodes,alltoall $nodes 2- 2049- pairwise"
done | paste -sd ,)" ]
ok $? "bench/tune --pes finds the lengths of the schedules by nodes" "$dir/out"
bad=
for program in "$top_srcdir"/bench/*.c; do
    case $program in */issue.c | */scale.c) continue ;; esac # built with parts of Fulmar; see their first comments
    $OSHCC -std=gnu11 -Wall -Wextra -Werror -I"$top_srcdir/bench" -c -o "$dir/p.o" "$program" >>"$dir/out" 2>&1 || bad="$bad $program"
done
[ -z "$bad" ]
ok $? "every program compiles without a warning$bad" "$dir/out"

# Invented results: twice the time and twice the rate of a baseline; a peer; sizes; PE counts.
cat >"$dir/made.py" <<'EOF'
import json, sys
factor = float(sys.argv[1])
def row(bench, place, size, pes, unit, ours):
    ours *= factor
    return {"bench": bench, "place": place, "bytes": size, "pes": pes, "unit": unit, "ours": ours, "peer": 3 * ours,
            "ratio": 3 if unit in ("us", "s") else 1 / 3}
rows = [row(b, p, n, 2, "us", 0.01 + n / 1e4) for b in ("put", "get", "put_signal") for p in ("heap", "static") for n in (8, 512, 65536)]
rows += [row(b, "heap", 8, 2, "us", 0.004) for b in ("fetch_add", "add", "pingpong_p")] + [row("rate_put", "heap", 8, 2, "M/s", 300)]
rows += [row(b, "-", 0, n, "us", n) for b in ("barrier_all", "team_sync") for n in (2, 4)] + [row("startup", "-", 0, n, "s", n / 100) for n in (2, 16)]
rows += [row("reduce_sum", "heap", n, pes, "us", n) for n in (8, 1024) for pes in (2, 4)]
rows += [row("device_p_1_item", "ring", 8, 2, "M/s", 5), row("device_g", "ring", 8, 2, "us", 0.6)]
json.dump(rows, open(sys.argv[2], "w"))
EOF
python3 "$dir/made.py" 1 "$dir/one.json" && python3 "$dir/made.py" 2 "$dir/two.json"
report() { # ROWS [ARGUMENTS]
    file=$1
    shift
    "$top_srcdir/bench/report" "$dir/$file.json" -o "$dir/$file.html" --baselines "$dir/baseline" --peer-name 'a <peer>' "$@" >"$dir/out" 2>&1
}
report one --save-baseline && ! grep -q 'Against the baseline' "$dir/one.html" && [ "$(ls "$dir/baseline" | wc -l)" -eq 1 ]
ok $? "a baseline is stored for this machine" "$dir/out"
grep -q '^Fulmar is slower than a <peer> in 2 of ' "$dir/out" && grep -q '^rate put, 8 B, 2 PEs: Fulmar 300 M/s, a <peer> 900 M/s, which is 3.00 times as good\.$' "$dir/out" &&
    grep -q '<h2>Where Fulmar is behind</h2>' "$dir/one.html"
ok $? "the report says in sentences where Fulmar is behind" "$dir/out"
report two && grep -q 'worst 0.50, best 2.00' "$dir/out" && grep -q 'Against the baseline' "$dir/two.html"
ok $? "twice the time gives the ratio 0.5, twice the rate gives 2" "$dir/out"
# Catches: the colours of better and worse exchanged, or of the times instead of the ratios.
[ "$(grep -o '<td class=[a-z]*>[0-9.]*' "$dir/two.html" | sort -u | tr '\n' ' ')" = \
    '<td class=better>2.00 <td class=better>3.00 <td class=worse>0.33 <td class=worse>0.50 ' ]
ok $? "ratios are green where Fulmar is faster and red where it is slower" "$dir/out"
python3 - "$dir/two.html" >"$dir/out" 2>&1 <<'EOF'
import re, sys, xml.etree.ElementTree as xml
page = open(sys.argv[1], encoding="utf-8").read()
plots = [xml.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.S)]
names = [plot.get("aria-label") for plot in plots]
assert {"Put: one blocking call", "Atomics: one call", "Barrier", "Start of a job", "One work-item", "Reduce sum"} <= set(names), names
for plot in plots:
    wide, tall = float(plot.get("width")), float(plot.get("height"))
    for mark in plot.iter():
        for x, y in (("x", "y"), ("cx", "cy"), ("x1", "y1"), ("x2", "y2")):
            if mark.get(x):
                assert 0 <= float(mark.get(x)) <= wide and 0 <= float(mark.get(y)) <= tall, (plot.get("aria-label"), mark.attrib)
assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page and "<script" not in page
assert "a &lt;peer&gt;" in page and "a <peer>" not in page
EOF
ok $? "the page is well-formed and loads no other file" "$dir/out"
report rows
ok $? "the page shows the results of this machine, too" "$dir/out"
plan
