#!/bin/sh
# refused.sh - whichever call of the library for memory, a file or a thread fails in one PE: the job does all it should, or ends
# with a line of the library that says why. Catches: a result that is not checked, a PE that goes on with another heap than the
# others, a job that waits for ever or ends without a reason.
. "${top_srcdir:=.}/test/tap.sh"
refuse=$top_builddir/test/fault/.libs/librefuse.so
! ${NM:-nm} -D "$top_builddir/.libs/libfulmar.so" | grep -Eq '__(asan|tsan)_init' ||
    skip_all "a sanitizer has functions of its own for memory"
[ -e "$refuse" ] || skip_all "no shared libraries in this build"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
REFUSE_PE=1 REFUSE_FILE=$dir/refused
export REFUSE_PE REFUSE_FILE

# refused_in TRANSPORT: refuse each call in turn.
refused_in() {
    call=0 bad=0
    : >"$dir/bad"
    while :; do
        call=$((call + 1))
        rm -f "$REFUSE_FILE"
        REFUSE_CALL=$call SHMEM_TRANSPORT=$1 LD_PRELOAD=$refuse timeout -k 5 30 $OSHRUN -n 2 "$top_builddir/test/fault/refused" \
            >"$dir/out" 2>&1
        status=$?
        [ -e "$REFUSE_FILE" ] || break
        if [ $status -eq 0 ]; then
            grep -q '^all right' "$dir/out"
        else
            [ $status -eq 1 ] && grep -q '^fulmar: ' "$dir/out" && ! grep -q '^wrong' "$dir/out"
        fi && continue
        bad=$((bad + 1))
        echo "call $call, $(cat "$REFUSE_FILE"): status $status" | cat - "$dir/out" >>"$dir/bad"
    done
    [ $status -eq 0 ] && [ $call -gt 40 ] && [ $bad -eq 0 ]
    ok $? "$((call - 1)) calls that may fail, transport $1: the job does all or says why it ends" "$dir/bad"
}

refused_in auto
refused_in ofi
plan
