#!/bin/sh
# length.sh - no file has more than 500 lines, but for the known ones, which do not grow. Catches: a file that gets a second purpose.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

# Longer files, with their lengths. One that has become short enough fails the test: remove its line.
cat >"$dir/known" <<'END'
bench/scale.c 514
test/cuda_cpu/programs.c 541
test/device/fake/cuda.c 564
test/fabric/object.c 522
test/launch/oshrun.t.sh 657
test/multi/device_any.c 521
test/multi/tag.c 614
test/unit/fabric.h 674
test/unit/net_ofi.c 560
test/unit/order.c 511
test/unit/stream.c 987
test/ze_cpu/native.c 523
END

lengths() { # ROOT: lines FILE LENGTH of the code; lists and documents have no limit
    (cd "$1" && find src include bench test examples -type f ! -name '*.txt' ! -name '*.md' ! -name '*.json' -exec wc -l {} + |
        awk '$2 != "total" { print $2, $1 }')
}

too_long() { # KNOWN, of lengths
    awk -v known="$1" 'BEGIN { while ((getline line <known) > 0) { split(line, word, " "); most[word[1]] = word[2] } }
        $1 in most { seen[$1] = 1 }
        $2 > ($1 in most ? most[$1] : 500) { print $1 ": " $2 " lines, more than " ($1 in most ? most[$1] : 500) }
        $1 in most && $2 <= 500 { print $1 ": " $2 " lines, remove it from the list of longer files" }
        END { for (f in most) if (!(f in seen)) print f ": does not exist, remove it from the list of longer files" }'
}

mkdir -p "$dir/src" "$dir/include" "$dir/bench" "$dir/test" "$dir/examples"
seq 501 >"$dir/src/a.c"
seq 501 >"$dir/src/b.c"
seq 500 >"$dir/test/c.sh"
seq 500 >"$dir/test/d"
printf '%s\n' 'src/b.c 501' 'test/c.sh 600' 'gone.c 900' >"$dir/list"
lengths "$dir" | too_long "$dir/list" | sort >"$dir/out"
printf '%s\n' 'gone.c: does not exist, remove it from the list of longer files' 'src/a.c: 501 lines, more than 500' \
    'test/c.sh: 500 lines, remove it from the list of longer files' | diff - "$dir/out" >"$dir/diff"
ok $? "a file that is too long is found, and one that is no longer" "$dir/diff"
lengths "$top_srcdir" | too_long "$dir/known" >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no file has more than 500 lines, but for $(wc -l <"$dir/known") known ones" "$dir/out"
plan
