#!/usr/bin/env bash
# sycl.sh - oshcc --race --sycl: races of kernels in SYCL, of calls of Intel SHMEM in them and on queues, are reported with the program's function
# and line; the mended ones are not. Catches: kernels or host code that are not instrumented, a command whose order SYCL's runtime hides, since its
# threads append all commands, a line of a header in place of the program's, a mangled name.
. "${top_srcdir:=.}/test/device/run.sh"
. "$top_srcdir/test/lib/sycl.sh"
[ -f "$top_builddir/.libs/libfulmar_race.so" ] || skip_all "libfulmar_race needs on_exit of glibc"
find_sycl "$work/jit" || skip_all "$no_sycl"
here=$top_srcdir/test/race
$OSHCXX --race --sycl -O0 -Xclang -disable-O0-optnone "$here/sycl.cpp" -o "$work/sycl" > "$work/log" 2>&1
ok $? "sycl.cpp compiles" "$work/log"
unset SHMEM_DEVICE
export SHMEM_DEVICE_SYMMETRIC_SIZE=8M

cases() { # WHAT
    "$work/sycl" | while read -r name; do
        for how in racy mended; do
            timeout -k 5 100 $OSHRUN -n 2 "$work/sycl" "$name" $how > "$work/$name.$how" 2>&1 < /dev/null
            status=$?
            if [ $how = racy ]; then
                [ $status -eq 66 ] && grep -q '^fulmar race: byte [0-9]* of 64 from shmemg_calloc at sycl.cpp:[0-9]* of PE' "$work/$name.$how" &&
                    grep -q '^    PE [01] work-item [0-9]: .*, in kernel [a-z_]* at .*/sycl.cpp:[0-9]*$' "$work/$name.$how"
            else
                [ $status -eq 0 ] && ! grep -q 'fulmar race' "$work/$name.$how"
            fi || { echo "$name $how: status $status" && cat "$work/$name.$how"; }
        done
    done > "$work/wrong"
    [ ! -s "$work/wrong" ] && [ "$("$work/sycl" | wc -l)" -ge 6 ]
    ok $? "racy and mended: $1" "$work/wrong"
}
line() { # FUNCTION TEXT: its line in sycl.cpp, within the function
    awk -v name=" $1(" -v text="$2" 'index($0, name) { in_it = 1 } in_it && index($0, text) { print NR; exit }' "$here/sycl.cpp"
}
[ "$SHMEM_TRANSPORT" = ofi ] || cases "on a node"
SHMEM_TRANSPORT=ofi cases "over the network"

grep -q "PE 0 work-item 0: put writes, in kernel pes at .*/sycl.cpp:$(line pes ishmem_int_p)\$" "$work/pes.racy" &&
    grep -q "PE 1 work-item 0: store writes, in kernel store at .*/sycl.cpp:$(line store '*at = value')\$" "$work/pes.racy"
ok $? "a call of Intel SHMEM and a store are at the program's lines, in the kernel that a function submits" "$work/pes.racy"

grep -q "PE 0 work-item 0: put writes, in kernel ishmemx_int_put_on_queue at " "$work/on_queue.racy"
ok $? "the kernel of a call on a queue has the call's name" "$work/on_queue.racy"
plan
