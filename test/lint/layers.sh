#!/bin/sh
# layers.sh - an include, a call and the use of a variable point to the same or a lower layer; modules (X.c and X.h together) neither
# include nor call each other in a circle; a file includes its own header first; a function that only its own file uses is static. Catches:
# a layer that depends on a higher one, files that can only be understood together, a header that compiles only after others, dead code.
# A lower layer reaches a higher one through a variable with a function's address that the higher one sets.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

# Circles of calls that are still there, one a line. A circle that is gone or has changed fails the test: change its line.
cat >"$dir/known" <<'END'
END

ranks='BEGIN {
    r["race"] = 10; r["tools"] = r["cudart"] = r["nvshmem"] = 9; r["host/api"] = r["proxy"] = 8; r["host/init"] = 7
    r["host/nbc"] = r["host/survive"] = 6.5; r["host/tag"] = r["host/gpc"] = r["host/observe"] = 6; r["host/coll"] = 5; r["host/ops"] = 4
    r["host/net/stream"] = 3.4; r["host/net/am"] = 3.2
    r["host/net/node"] = r["host/net/fabric"] = r["device"] = r["device/lib"] = 3; r["host/boot"] = 2; r["host/util"] = r["host/policy"] = 1
    r["ze_cpu"] = r["cuda_cpu"] = 0 }'

includes() { # ROOT: lines FILE:LINE:#include "FILE", paths relative to src; a name without folder is in the same folder
    (cd "$1/src" && grep -rnE '^#include "' . | grep -v '"config.h"') |
        sed -E 's,^\./,,; s,^(.*)/([^/"]*")([^/"]*"),\1/\2\1/\3,'
}

# ROOT: includes that point up, or cross the border of ze_cpu and cuda_cpu, which are libraries of their own; only the
# declarations of the CUDA driver, and what the race library learns, are on both sides.
above() {
    includes "$1" | awk -F'[:"]' "$ranks"'
        $4 == "device/cuda_driver.h" && $1 ~ "^cuda_cpu/" { next }
        $4 == "ze_cpu/race.h" && $1 ~ "^race/" { next }
        { a = $1; b = $4; sub("/[^/]*$", "", a); sub("/[^/]*$", "", b)
          if (!(a in r) || !(b in r) || r[b] > r[a] || !r[a] != !r[b]) print $1 ":" $2 ": " $4 " is above" }'
}

cycles() { # ROOT: modules that include each other in a cycle
    includes "$1" | awk -F'[:"]' '{ sub("[.][a-z]*$", "", $1); sub("[.][a-z]*$", "", $4); print $1, $4 }' |
        LC_ALL=C tsort 2>&1 >/dev/null | sed -n '/input contains a loop/d; s/^tsort: //p'
}

not_first() { # ROOT: files whose own header is not their first include
    (cd "$1" && find src -name '*.c' | while read -r c; do
        own=${c%.c}.h
        [ ! -f "$own" ] || grep -m1 '^#include' "$c" | grep -q "\"\(.*/\)\{0,1\}${own##*/}\"" ||
            echo "$c: $own is not its first include"
    done)
}

# SOURCES BUILD: lines MODULE U|D SYMBOL of the objects of libraries and tools whose files are still there: symbols that a module needs or
# defines. Tests have objects of their own.
symbols() {
    {
        (cd "$1/src" && find . -name '*.c')
        (cd "$2/src" && find . \( -name 'lib*_la-*.o' -o -path './tools/*.o' -o -name 'tools_*.o' \) -exec ${NM:-nm} -A -P {} + 2>/dev/null)
    } | awk '
        { sub("^[.]/", "") }
        NF == 1 { sub("[.]c$", ""); source[$0] = 1; next }
        { m = $1; sub("[.]o:$", "", m); sub("[.]libs/", "", m); sub("[^/]*-", "", m) }
        m in source && $3 ~ /^[A-TV-Zvwu]$/ { print m, $3 ~ /[vw]/ ? "U" : "D", $2 }
        m in source && $3 == "U" { print m, "U", $2 }' | LC_ALL=C sort -u
}

# of symbols: lines MODULE MODULE SYMBOL: the first uses the symbol, which the second defines. What oshrun and libfulmar_race define in place
# of libc is not what the libraries use.
calls() {
    awk '$2 == "D" { of[$3] = of[$3] " " $1; next }
        { user[++n] = $1; what[n] = $3 }
        END { for (i = 1; i <= n; i++) {
                  some = split(of[what[i]], owner, " "); self = 0
                  for (k = 1; k <= some; k++) self += owner[k] == user[i]
                  for (k = 1; k <= some && !self; k++)
                      if (owner[k] !~ /^(tools|race)/ || substr(user[i], 1, 4) == substr(owner[k], 1, 4)) print user[i], owner[k], what[i] } }'
}

calls_above() { # of calls: those that point up
    awk "$ranks"'{ a = $1; b = $2; sub("/[^/]*$", "", a); sub("/[^/]*$", "", b)
                   if (r[b] > r[a]) print $1 ": " $3 " is above, in " $2 }'
}

circles() { # of calls: the modules of each circle, one circle a line
    awk '!(($1, $2) in seen) { seen[$1, $2] = 1; to[$1] = to[$1] " " $2; module[$1] = module[$2] = 1 }
        END { for (m in module) { n = split(to[m], queue, " ")
                  for (i = 1; i <= n; i++) {
                      if ((m, queue[i]) in reach) continue
                      reach[m, queue[i]] = 1
                      some = split(to[queue[i]], more, " ")
                      for (k = 1; k <= some; k++) queue[++n] = more[k] } }
              for (m in module) { first = ""
                  for (o in module) if ((m, o) in reach && (o, m) in reach && (first == "" || o < first)) first = o
                  if (first != "") print first, m } }' | LC_ALL=C sort |
        awk '$1 != was { printf "%s%s", was == "" ? "" : "\n", $2; was = $1; next } { printf " %s", $2 } END { if (NR) print "" }'
}

# SOURCES, of symbols: functions and variables that no other file, no test, no program of bench and no export uses.
unused() {
    grep -rhowE '(shi|zc|cc|race)_\w+' "$1/test" "$1/bench" --include='*.[ch]*' 2>/dev/null | LC_ALL=C sort -u >"$dir/mentioned"
    awk '$2 == "U" { print $3 }' "$dir/symbols" | cat - "$dir/mentioned" | awk '
        NR == FNR { used[$1] = 1; next }
        $2 == "D" && ($3 ~ /^(shi|zc|cc|race)_/ || $1 ~ /^tools/ && $3 !~ /^(main|pthread_create|accept4?|MPIR_.*)$/) && !($3 in used) { print $1 ".c: " $3 " is used by no other file" }' - "$dir/symbols"
}

s=$dir/src/host
mkdir -p "$s/util" "$s/ops" "$dir/src/ze_cpu" "$dir/build/src/host/util/.libs" "$dir/build/src/host/ops"
echo '#include "host/ops/b.h"' >"$s/util/a.c"
echo '#include "host/util/a.h"' >"$dir/src/ze_cpu/e.c"
touch "$s/util/a.h"
printf '#include "host/ops/%s.h"\n' c >"$s/ops/b.h"
printf '#include "host/ops/%s.h"\n' c b >"$s/ops/c.c"
touch "$s/ops/c.h" "$s/ops/d.c"
[ "$(above "$dir" | wc -l)" -eq 2 ] && [ "$(not_first "$dir" | wc -l)" -eq 1 ] && [ "$(cycles "$dir" | wc -l)" -eq 2 ]
ok $? "the checks of includes find a violation of each kind"

compile() { # OBJECT CODE
    echo "$2" | ${CC:-cc} -x c -c -o "$dir/build/src/host/$1.o" -
}
compile util/.libs/libfulmar_la-a 'int shi_c(void); int shi_a(void) { return shi_c(); }' &&
    compile ops/libfulmar_la-c 'extern int shi_d; int shi_c(void) { return shi_d; }' &&
    compile ops/libfulmar_la-d 'int shi_c(void); int shi_d; int shi_e(void) { return shi_c(); }' &&
    compile ops/libfulmar_la-gone 'int shi_a(void); int shi_d2(void) { return shi_a(); }' &&
    symbols "$dir" "$dir/build" >"$dir/symbols" && calls <"$dir/symbols" >"$dir/calls" &&
    [ "$(calls_above <"$dir/calls")" = "host/util/a: shi_c is above, in host/ops/c" ] &&
    [ "$(circles <"$dir/calls")" = "host/ops/c host/ops/d" ] && [ "$(unused "$dir" | grep -c 'shi_[ae] is used')" -eq 2 ]
ok $? "the checks of calls find a violation of each kind, and leave out an object without source" "$dir/calls"

above "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no include points up" "$dir/out"
cycles "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no cycle of includes" "$dir/out"
not_first "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "own header first" "$dir/out"

symbols "$top_srcdir" "$top_builddir" >"$dir/symbols"
if grep -q __gnu_lto_slim "$dir/symbols"; then
    for what in "no call points up" "circles of calls" "functions of one file are static"; do
        skip "$what" "objects without code: built with -flto"
    done
else
    calls <"$dir/symbols" >"$dir/calls"
    calls_above <"$dir/calls" >"$dir/out"
    [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/calls")" -gt 1000 ]
    ok $? "none of $(wc -l <"$dir/calls") calls points up" "$dir/out"
    circles <"$dir/calls" | diff "$dir/known" - >"$dir/out"
    ok $? "no circle of calls, but for $(wc -l <"$dir/known") known ones" "$dir/out"
    unused "$top_srcdir" >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "what only its own file uses is static" "$dir/out"
fi
plan
