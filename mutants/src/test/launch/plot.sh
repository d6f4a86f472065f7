#!/bin/sh
# plot.sh - oshinfo --plot: the picture shows the data of statistics and traces. Catches: a file that is not SVG, bytes
# of a get in the wrong direction, events outside the page, invalid input that is drawn.
. "${top_srcdir:=.}/test/tap.sh"
info=$top_builddir/src/tools/oshinfo
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
SHMEM_STATS=$dir/s.json SHMEM_TRACE=$dir/t.json $OSHRUN -n 4 "$top_builddir/test/launch/observe" >"$dir/out" 2>&1
ok $? "a job with statistics and a trace" "$dir/out"

# drawn PICTURE TIMELINE: check that it is well-formed, with all rectangles on the page, a cell for each pair with
# traffic.
drawn() {
    python3 - "$1" "$2" >"$dir/out" 2>&1 <<'EOF'
import sys, xml.etree.ElementTree as xml
root = xml.parse(sys.argv[1]).getroot()
ns = "{http://www.w3.org/2000/svg}"
wide, tall = float(root.get("width")), float(root.get("height"))
boxes = [r for r in root.iter(ns + "rect") if r.get("x")]
for r in boxes:
    assert 0 <= float(r.get("x")) and float(r.get("x")) + float(r.get("width")) <= wide + 0.1, r.attrib
    assert 0 <= float(r.get("y")) and float(r.get("y")) + float(r.get("height")) <= tall + 0.1, r.attrib
words = [t.text for t in root.iter(ns + "text")]
assert any(w.startswith("4 PEs moved") for w in words), words
assert any(w.startswith("Timeline") for w in words) == (sys.argv[2] == "1"), words
assert {"put", "get", "atomic", "signal", "collective", "barrier", "wait"} <= set(words), words
# Row by row: 8048 B of puts and 24 B of signals to the next PE, 24 B of a collective to each other, 16 B of atomics to PE 0;
# data of gets, 8 B from the next PE and 32 B from PE 0. No PE but PE 0 sends to itself.
cells = [w for w in words[1:] if w.endswith(" B") or w.endswith("KiB")][:13]
assert cells == ["48 B", "7.94 KiB", "56 B", "64 B", "48 B", "7.91 KiB", "24 B", "40 B", "32 B", "7.91 KiB", "7.92 KiB",
                 "24 B", "32 B"], cells
EOF
    ok $? "$3" "$dir/out"
}
"$info" --plot "$dir/both.svg" "$dir/s.json" "$dir/t.json" && drawn "$dir/both.svg" 1 "statistics and trace"
"$info" --plot "$dir/stats.svg" "$dir/s.json" && drawn "$dir/stats.svg" 0 "statistics alone"
"$info" --plot "$dir/trace.svg" "$dir/t.json" && drawn "$dir/trace.svg" 1 "a trace alone"
sed -n '/>Timeline/,$p' "$dir/both.svg" >"$dir/out" && sed -n '/>Timeline/,$p' "$dir/trace.svg" | cmp -s - "$dir/out"
ok $? "the timeline and its axis come from the trace alone" "$dir/out"
families=$(sed -n '/define SHI_FOR_EACH_FAMILY/,/^$/p' "$top_srcdir/src/host/util/trace_format.h" | grep -o 'X([A-Z]*, [a-z]*' | sed 's/.* //')
[ "$(sed -n '/^COLOURS/,/^}/p' "$top_srcdir/src/tools/plot.py" | grep -o '"[a-z]*"' | tr -d '"')" = "$families" ]
ok $? "plot.py knows the families of trace_format.h"

# Many PEs. Catches: the slow PE hidden in a mean, PE numbers that are not round, more lines than pixels, a picture of megabytes.
python3 - "$dir/many.json" <<'EOF'
import json, sys
events = []
for pe in range(1000):
    for i in range(20):
        took = 10 if pe == 333 else 40
        events.append({"name": "shmem_barrier_all", "cat": "barrier", "ph": "X", "pid": pe, "tid": 1, "ts": 100 * i + 90 - took, "dur": took, "args": {"bytes": 0}})
    events.append({"name": "shmem_putmem", "cat": "put", "ph": "X", "pid": pe, "tid": 1, "ts": 5, "dur": 2,
                   "args": {"bytes": 64, "to": (pe + 1) % 1000, "to_all": False, "by": "stores"}})
    events.append({"name": "kernel_put", "cat": "put", "ph": "X", "pid": pe, "tid": 131200, "ts": 5, "dur": 2000,
                   "args": {"bytes": 0, "to": 0, "to_all": False, "by": "ring"}})
    events.append({"name": "heat", "cat": "kernel", "ph": "X", "pid": pe, "tid": 131072, "ts": 5, "dur": 2000, "args": {"bytes": 0}})
    events.append({"name": "put to wait", "cat": "arrow", "ph": "s", "id": pe, "pid": pe, "tid": 1, "ts": 5})
json.dump({"otherData": {"n_pes": 1000}, "traceEvents": events}, open(sys.argv[1], "w"))
EOF
"$info" --plot "$dir/many.svg" "$dir/many.json" && python3 - "$dir/many.svg" >"$dir/out" 2>&1 <<'EOF'
import os, sys, xml.etree.ElementTree as xml
ns, root = "{http://www.w3.org/2000/svg}", xml.parse(sys.argv[1]).getroot()
wide, tall = float(root.get("width")), float(root.get("height"))
for r in (r for r in root.iter(ns + "rect") if r.get("x")):
    assert float(r.get("x")) + float(r.get("width")) <= wide + 0.1 and float(r.get("y")) + float(r.get("height")) <= tall + 0.1, r.attrib
words = [t.text for t in root.iter(ns + "text")]
assert "least: PE 333, 202 µs; most: PE 0, 802 µs; line: least to most" in words, words
assert words.count("900") == 4 and "333" not in words, words
ranges = [p.get("d") for p in root.iter(ns + "path") if p.get("stroke") == "#000"]
assert len(ranges) == 250 and sum(float(d[1:].split(" ")[0]) < float(d.split("H")[1]) - 100 for d in ranges) == 1, ranges
assert tall < 1300 and os.path.getsize(sys.argv[1]) < 2000000, (tall, os.path.getsize(sys.argv[1]))
EOF
ok $? "1,000 PEs: the slow one is named and seen" "$dir/out"

# A PNG if rsvg-convert is installed, else one line.
mkdir "$dir/bin" && printf '#!/bin/sh\ncat\n' >"$dir/bin/rsvg-convert" && chmod +x "$dir/bin/rsvg-convert"
PATH=$dir/bin:$PATH "$info" --plot "$dir/p.png" "$dir/s.json" && cmp -s "$dir/p.png" "$dir/stats.svg"
ok $? "rsvg-convert makes a PNG from the SVG"
rm "$dir/bin/rsvg-convert" && ln -s "$(command -v ls)" "$dir/bin"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$dir/bin/python3"
PATH=$dir/bin "$info" --plot "$dir/q.png" "$dir/s.json" >"$dir/out" 2>&1
[ $? -eq 1 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -q rsvg-convert "$dir/out"
ok $? "without rsvg-convert one line names it" "$dir/out"
rm "$dir/bin/python3"
PATH=$dir/bin "$info" --plot "$dir/q.svg" "$dir/s.json" >"$dir/out" 2>&1
[ $? -eq 1 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -q 'needs python3' "$dir/out"
ok $? "without python3 one line names it" "$dir/out"

# A symbolic link of another user in the place of the picture.
echo precious >"$dir/file" && ln -s file "$dir/link.svg"
"$info" --plot "$dir/link.svg" "$dir/s.json" >"$dir/out" 2>&1
[ $? -eq 1 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -q link.svg "$dir/out" && [ "$(cat "$dir/file")" = precious ]
ok $? "a symbolic link is not followed" "$dir/out"

# Files of another kind, truncated, or missing; each refused with one line.
printf '{"traceEvents":[{"ph":"X"' >"$dir/cut.json"
printf '[1, 2, {"a": "b"}]' >"$dir/other.json"
printf 'not json' >"$dir/junk.json"
: >"$dir/empty.json"
bad=
for f in cut other junk empty absent; do
    "$info" --plot "$dir/x.svg" "$dir/$f.json" >"$dir/out" 2>&1
    [ $? -eq 1 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -q "$f.json" "$dir/out" || bad="$bad $f"
done
[ -z "$bad" ] && [ ! -e "$dir/x.svg" ]
ok $? "other files are refused:$bad" "$dir/out"
"$info" --plot "$dir/x.gif" "$dir/s.json" >"$dir/out" 2>&1
[ $? -eq 2 ] && grep -q '.svg or .png' "$dir/out"
ok $? "another kind of picture is refused" "$dir/out"
plan
