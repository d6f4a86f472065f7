#!/bin/sh
# layers.sh - an include points to the same or a lower layer, modules (X.c and X.h together) do not include each other
# in a cycle, and a file includes its own header first. Catches: a layer that depends on a higher one, files that can
# only be understood together, and a header that compiles only after others.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

includes() { # ROOT: lines FILE:LINE:#include "FILE", paths relative to src; a name without folder is in the same folder
    (cd "$1/src" && grep -rnE '^#include "' . | grep -v '"config.h"') |
        sed -E 's,^\./,,; s,^(.*)/([^/"]*")([^/"]*"),\1/\2\1/\3,'
}

# ROOT: includes that point up, or cross the border of ze_cpu and cuda_cpu, which are libraries of their own; only the
# declarations of the CUDA driver are on both sides.
above() {
    includes "$1" | awk -F'[:"]' '
        BEGIN { r["tools"] = 9; r["host/api"] = r["proxy"] = 8; r["host/init"] = 7
                r["host/tag"] = r["host/gpc"] = r["host/observe"] = 6; r["host/coll"] = 5; r["host/ops"] = 4
                r["host/net"] = r["device"] = r["device/lib"] = 3; r["host/boot"] = 2; r["host/util"] = r["host/policy"] = 1
                r["ze_cpu"] = r["cuda_cpu"] = 0 }
        $4 == "device/cuda_driver.h" && $1 ~ "^cuda_cpu/" { next }
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

s=$dir/src/host
mkdir -p "$s/util" "$s/ops" "$dir/src/ze_cpu"
echo '#include "host/ops/b.h"' >"$s/util/a.c"
echo '#include "host/util/a.h"' >"$dir/src/ze_cpu/e.c"
touch "$s/util/a.h"
printf '#include "host/ops/%s.h"\n' c >"$s/ops/b.h"
printf '#include "host/ops/%s.h"\n' c b >"$s/ops/c.c"
touch "$s/ops/c.h"
[ "$(above "$dir" | wc -l)" -eq 2 ] && [ "$(not_first "$dir" | wc -l)" -eq 1 ] && [ "$(cycles "$dir" | wc -l)" -eq 2 ]
ok $? "the checks find a violation of each kind"
above "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no include points up" "$dir/out"
cycles "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no cycle of includes" "$dir/out"
not_first "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "own header first" "$dir/out"
plan
