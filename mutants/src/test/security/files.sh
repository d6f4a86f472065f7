#!/bin/sh
# files.sh - the files of SHMEM_STATS and SHMEM_TRACE have mode 0600 with any umask; the library does not write them
# through a symbolic link, or into a file with another name or owner. Catches: statistics that other users can read, and
# a link by which another user of the folder makes a job overwrite its owner's files.
. "${top_srcdir:=.}/test/tap.sh"
info=$top_builddir/src/tools/oshinfo
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
umask 0

run() { # VARIABLE=VALUE...: run a job of two PEs with statistics or trace
    rm -f "$dir"/*
    echo precious >"$dir/target"
    [ -z "$link" ] || ln $link "$dir/target" "$dir/$name" || exit 99
    env "$@" timeout -k 5 60 $OSHRUN -n 2 "$top_builddir/test/launch/observe" >"$dir/out" 2>&1
}

modes() { # FILE...: check that all have mode 0600
    for file; do [ "$(stat -c %a "$file")" = 600 ] || return 1; done
}

link='' name=''
run SHMEM_STATS="$dir/stats" SHMEM_TRACE="$dir/trace" && modes "$dir/stats" "$dir/trace"
ok $? "statistics and trace have mode 0600" "$dir/out"
run SHMEM_STATS="$dir/stats_%p" && modes "$dir/stats_0" "$dir/stats_1"
ok $? "the files of the PEs have mode 0600" "$dir/out"
env SHMEM_TRACE="$dir/dead" $OSHRUN -n 2 "$top_builddir/test/launch/observe" die >"$dir/out" 2>&1
modes "$dir/dead.0.part" "$dir/dead.1.part" && "$info" --join "$dir/dead" >"$dir/out" 2>&1 && modes "$dir/dead"
ok $? "the parts of a trace, and the joined trace, have mode 0600" "$dir/out"
echo old >"$dir/old"
chmod 666 "$dir/old"
env SHMEM_STATS="$dir/old" $OSHRUN -n 2 "$top_builddir/test/launch/observe" >"$dir/out" 2>&1 && modes "$dir/old" && ! grep -q old "$dir/old"
ok $? "a file of an earlier job is replaced and gets mode 0600" "$dir/out"

refused() { # PATTERN: the job failed with one line that matches, and the target is unchanged
    [ $? -ne 0 ] && [ "$(grep -c "$1" "$dir/out")" -eq 1 ] && [ "$(cat "$dir/target")" = precious ]
}

link=-s
name=stats
run SHMEM_STATS="$dir/stats"
refused 'fulmar: PE 0: SHMEM_STATS=.*symbolic link'
ok $? "a symbolic link with the name of the statistics is refused" "$dir/out"
name=trace
run SHMEM_TRACE="$dir/trace"
refused 'fulmar: PE 0: SHMEM_TRACE=.*symbolic link'
ok $? "a symbolic link with the name of the trace is refused" "$dir/out"
[ -e "$dir/trace.1.part" ] && rm "$dir/trace" && "$info" --join "$dir/trace" >"$dir/out" 2>&1
ok $? "the parts remain" "$dir/out"
name=trace.1.part
run SHMEM_TRACE="$dir/trace"
refused 'fulmar: PE 1: SHMEM_TRACE=.*symbolic link'
ok $? "a symbolic link with the name of a part of the trace is refused" "$dir/out"
link=-f
name=stats
run SHMEM_STATS="$dir/stats"
refused 'fulmar: PE 0: SHMEM_STATS=.*hard links'
ok $? "a hard link with the name of the statistics is refused" "$dir/out"

if [ "$(id -u)" = 0 ] && command -v setpriv >"$dir/out"; then
    link=''
    run SHMEM_TRACE="$dir/trace"
    env SHMEM_TRACE="$dir/dead" $OSHRUN -n 2 "$top_builddir/test/launch/observe" die >"$dir/out" 2>&1
    for file in stats dead.0.part dead.1.part; do
        echo precious >>"$dir/$file"
        chmod 666 "$dir/$file"
        chown 61002 "$dir/$file"
    done
    mv "$dir/stats" "$dir/target"
    env SHMEM_STATS="$dir/target" $OSHRUN -n 2 "$top_builddir/test/launch/observe" >"$dir/out" 2>&1
    refused 'fulmar: PE 0: SHMEM_STATS=.*another user'
    ok $? "a file of another user" "$dir/out"
    ! "$info" --join "$dir/dead" >"$dir/out" 2>&1 && [ "$(wc -l <"$dir/out")" -eq 1 ] && [ ! -e "$dir/dead" ]
    ok $? "parts of a trace of another user" "$dir/out"
else
    skip "files of another user" "this is not root"
fi
plan
