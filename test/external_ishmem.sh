#!/usr/bin/env bash
# external_ishmem.sh - Intel SHMEM's own examples, unit tests, application and benchmarks, unchanged, on libze_cpu.so: with 1, 2 and 4 PEs,
# by loads and stores and by the ring, on one host and on two. external_ishmem.h is the support that they need.
#
#   ISHMEM=DIR [ONEDPL=DIR] make check TESTS=test/external_ishmem.sh
#   ISHMEM         a checkout of https://github.com/oneapi-src/ishmem (or of uxlfoundation/ishmem), tested with 1.5.1
#   ONEDPL         a checkout of oneDPL, whose random numbers examples 4 and 5 use; without it they do not compile
#   ISHMEM_TESTS   names of the programs to run; default: all
#   ISHMEM_WAYS    how to run them; default: direct ring hosts (direct and by the ring on one host; on two hosts)
#   ISHMEM_MODES   the modes of their class ishmem_tester; default: those of its CMakeLists.txt
#   ISHMEM_SIZES   its options for types and sizes; default: see sizes; "": all types and 65536 elements at most
#   FULMAR_TEST_PES, ACPP_DIR   as for the other tests
#
# A program passes if it ends with 0 in each way, and prints no error. Its sources are unchanged; they are compiled without
# optimisation but that of kernels when they run, in a fifth of the time. The programs and the table of all results stay in the build folder, in external_ishmem: a later run uses
# these programs again, and replaces the rows of those that it runs. All of them take hours; ISHMEM_TESTS divides them.
# Catches: a routine that others' programs use and that does not compile, or has other results.
. "${top_srcdir:=.}/test/tap.sh"
here=$(cd "$top_srcdir" && pwd)
[ -f "${ISHMEM:=none}/test/include/ishmem_tester.h" ] || skip_all "ISHMEM does not name a checkout of Intel SHMEM"
PATH=${ACPP_DIR:-$PWD/acpp}/bin:$PATH
command -v acpp > /dev/null || skip_all "acpp (AdaptiveCpp) compiles SYCL; it is not installed"
[ -f "$top_builddir/.libs/libze_cpu.so" ] || skip_all "this build has no device backend (libze-dev)"
if why=$("$hosts" can) && why="mpirun (openmpi-bin) is not installed" && command -v mpirun > /dev/null; then
    need_hosts "$0"
else
    echo "# not on two hosts: $why"
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
bin=$(cd "$top_builddir" && pwd)/external_ishmem
mkdir -p "$bin" "$work/inc/ishmem"
export OSHCC_SYCL="acpp --acpp-targets=generic" ACPP_APPDB_DIR=$bin/jit ISHMEM_SHMEM_LIB_NAME=${bin%/*}/.libs/libfulmar.so
export SHMEM_TEST_SPIN=0 ACPP_DEBUG_LEVEL=1 # errors only

# ---- compile ----------------------------------------------------------------------------------------------------------------

: > "$work/inc/ishmem/config.h"
: > "$work/inc/ishmem/err.h"
echo '#define ENABLE_OPENSHMEM' > "$work/inc/ishmem_test_config.h"
{
    echo '#include <ishmem/types.h>'
    echo 'const char *ishmemi_op_str[ISHMEMI_OP_END + 1], *ishmemi_type_str[ISHMEMI_TYPE_END + 1];'
    echo 'static int names = ('
    sed -n 's/^constexpr ishmemi_\(op\|type\)_t ISHMEMI_[A-Z]*_\([a-z0-9_]*\) = \([A-Z0-9_]*\);/ishmemi_\1_str[\3] = "\2",/p' \
        "$ISHMEM/src/ishmem/types.h"
    echo '0);'
} > "$work/names.cpp"
compile() { # ARGUMENTS
    $OSHCXX --sycl -O0 -Xclang -disable-O0-optnone -w "-I$work/inc" "-I$ISHMEM/test/include" \
        -idirafter "$ISHMEM/src" ${ONEDPL:+-idirafter "$ONEDPL/include"} "$@"
}
program() { # FILE: to $bin
    name=$(basename "$1" .cpp)
    compile -include-pch "$work/headers.pch" "$1" "$work/runtime.o" "$work/names.o" -o "$bin/$name" > "$bin/$name.log" 2>&1
}
headers() { # the headers that all of them include, compiled once. acpp compiles only files that it takes for sources
    echo '#include "external_ishmem.h"' > "$work/headers.cpp"
    compile -c -x c++-header "-I$here/test" "$work/headers.cpp" -o "$work/headers.pch"
}
export -f compile program
export work bin here ISHMEM ONEDPL OSHCXX
for file in "$ISHMEM"/{examples,test/unit,test/apps/jacobi,test/performance}/*.cpp; do
    [ -z "$ISHMEM_TESTS" ] || [[ " $ISHMEM_TESTS " == *" $(basename "$file" .cpp) "* ]] || continue
    echo "$file"
done > "$work/files"
while read -r file; do [ -x "$bin/$(basename "$file" .cpp)" ] || echo "$file"; done < "$work/files" > "$work/to_compile"
if [ -s "$work/to_compile" ]; then
    headers > "$work/log" 2>&1 && compile -include-pch "$work/headers.pch" -c "$work/names.cpp" -o "$work/names.o" >> "$work/log" 2>&1 &&
        compile -include "$here/test/external_ishmem.h" -DEXTERNAL_ISHMEM_TEAMS -c "$ISHMEM/test/common/runtime_openshmem.cpp" \
            -o "$work/runtime.o" >> "$work/log" 2>&1
    ok $? "the support of their tests compiles" "$work/log"
    xargs -n1 -P"$(nproc)" bash -c 'program "$1"' program < "$work/to_compile"
fi

# ---- run --------------------------------------------------------------------------------------------------------------------

listed() { # NAME, SET: is the program in this set of CMakeLists.txt?
    sed -n "/^set($2\$/,/)/p" "$ISHMEM/test/unit/CMakeLists.txt" | grep -qwE "$1"
}
sizes() { # NAME: their tests of all distances of source and dest, of all types, take hours; so a type of each kind of size, and fewer elements
    case $1 in
    reduce_and | reduce_or | reduce_xor) echo "-m 64 --test_types uint64,uint32" ;;
    reduce_* | exscan | inscan) echo "-m 64 --test_types int64,uint32,double" ;;
    ibget | ibput) echo "-m 4096 --test_types uint64,float" ;;
    alltoall | broadcast | collect | fcollect | get | get_nbi | put | put_nbi) echo "-m 4096 --test_types uint64,float" ;;
    *) echo "-m 64" ;;
    esac
}
arguments() { # FILE
    name=$(basename "$1" .cpp)
    case $1 in
    */performance/*) # AdaptiveCpp does not time kernels
        modes=host_device_device
        ! grep -q 'argv, true' "$1" || modes=$modes,on_queue
        echo "--csv -m 8 --test_modes ${ISHMEM_MODES:-$modes}"
        ;;
    */jacobi.cpp) echo "-niter 6200 -nx 128 -ny 128" ;;
    *)
        listed "$name" ISHMEM_TESTER_CTEST_FILES || return
        modes=host_device_device,device
        listed "$name" ISHMEM_TESTER_GROUP_TESTS && modes=$modes,device_grp1
        listed "$name" ISHMEM_TESTER_ON_QUEUE_TESTS && modes=$modes,on_queue
        echo "--csv ${ISHMEM_SIZES-$(sizes "$name")} --test_modes ${ISHMEM_MODES:-$modes}"
        ;;
    esac
}
run() { # WAY, PES, PROGRAM, ARGUMENTS
    local way=$1 pes=$2
    shift 2
    case $way in
    direct) timeout "${ISHMEM_TIMEOUT:-300}" $OSHRUN -n "$pes" "$@" ;;
    ring) SHMEM_TEST_DEVICE_DIRECT=0 timeout "${ISHMEM_TIMEOUT:-300}" $OSHRUN -n "$pes" "$@" ;;
    hosts)
        timeout "${ISHMEM_TIMEOUT:-300}" "$hosts" in h1 $OSHRUN --engine mpirun -H "h1:$((pes / 2)),h2:$((pes / 2))" -n "$pes" \
            -x ISHMEM_SHMEM_LIB_NAME -x ACPP_APPDB_DIR -x ACPP_DEBUG_LEVEL "$@"
        ;;
    esac > "$work/log" 2>&1 < /dev/null && ! grep -qE 'FAIL|ERROR|(^|[^-0-9])[1-9][0-9]* errors|errors [1-9]|does not match' "$work/log"
}
touch "$bin/table"
while read -r file; do
    name=$(basename "$file" .cpp) bad= row=
    if [ ! -x "$bin/$name" ]; then
        ok 1 "$name compiles" "$bin/$name.log"
        row=" does not compile" bad=1
    else
        args=$(arguments "$file")
        for way in ${ISHMEM_WAYS:-direct ring hosts}; do
            for pes in ${FULMAR_TEST_PES:-1 2 4}; do
                [ "$way" != hosts ] || { [ "$pes" -gt 1 ] && [ "$FAKE_HOSTS" ]; } || continue
                began=$SECONDS
                # shellcheck disable=SC2086
                if run "$way" "$pes" "$bin/$name" $args; then
                    row="$row $way-$pes:$((SECONDS - began))s"
                else
                    row="$row $way-$pes:FAILED" bad="$bad $way-$pes"
                    cp "$work/log" "$bin/$name.$way-$pes.log"
                fi
            done
        done
        [ ! "$bad" ]
        ok $? "$name${bad:+: failed:$bad}" "$work/log"
    fi
    { grep -v "^$name " "$bin/table"; echo "$name$row"; } | sort > "$work/table"
    cp "$work/table" "$bin/table"
done < "$work/files"
echo "# $bin/table: $(wc -l < "$bin/table") programs, of which $(grep -cvE 'FAILED|not compile' "$bin/table") pass:"
sed 's/^/# /' "$bin/table"
plan
