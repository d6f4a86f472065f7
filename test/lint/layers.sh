#!/bin/sh
# layers.sh - an include points to the same or a lower layer, and a file includes its own header first. Catches: a layer
# that comes to need the one above it, and a header that only compiles after others.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

above() { # ROOT: includes that point up
    (cd "$1" && grep -rnE '^#include "(host|proxy|device)/' src) | awk -F'[:"]' '
        BEGIN { r["src/host/api"] = 6; r["src/proxy"] = 6; r["src/host/init"] = 5
                r["src/host/tag"] = r["src/host/gpc"] = r["src/host/coll"] = r["src/host/observe"] = r["src/host/ops"] = 4
                r["src/host/net"] = 3; r["src/host/boot"] = 2; r["src/host/util"] = 1 }
        function layer(p) { sub("/[^/]*$", "", p)
                            return p in r ? r[p] : p ~ "^src/device" ? 3 : p ~ "^src/tools" ? 9 : -1 }
        { a = layer($1); b = layer("src/" $4)
          if (a < 0 || b < 0 || b > a) print $1 ":" $2 ": " $4 " is above" }'
}

not_first() { # ROOT: files whose own header is not their first include
    (cd "$1" && find src -name '*.c' | while read -r c; do
        own=${c%.c}.h
        [ ! -f "$own" ] || grep -m1 '^#include' "$c" | grep -q "\"\(.*/\)\{0,1\}${own##*/}\"" ||
            echo "$c: $own is not its first include"
    done)
}

mkdir -p "$dir/src/host/util" "$dir/src/host/ops"
echo '#include "host/ops/b.h"' >"$dir/src/host/util/a.c"
touch "$dir/src/host/util/a.h" "$dir/src/host/ops/b.h"
[ "$(above "$dir" | wc -l)" -eq 1 ] && [ "$(not_first "$dir" | wc -l)" -eq 1 ]
ok $? "an offence of each kind is found"
above "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no include points up" "$dir/out"
not_first "$top_srcdir" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "own header first" "$dir/out"
plan
