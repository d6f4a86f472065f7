#!/usr/bin/env bash
# external_nvshmem.sh - NVSHMEM's own examples and its perftest, unchanged, compiled with nvshmem.h of this tree, on libcuda_cpu.so: with 1, 2
# and 4 PEs, by loads and stores on one host and by the ring on two. Their sources are not in this tree.
#
#   FULMAR_NVSHMEM=DIR make check TESTS=test/external_nvshmem.sh
#   FULMAR_NVSHMEM     a checkout of https://github.com/NVIDIA/nvshmem, tested with 3.5.1
#   NVSHMEM_PROGRAMS   names of the programs to run (default: all but the GEMM for Blackwell and the tiles, which need CUTLASS)
#   NVSHMEM_WAYS       host, ring, hosts (two hosts), mpi and uid (started by MPI, with its communicator or a unique id)
#   FULMAR_TEST_PES    numbers of PEs (default: 1 2 4)
#   NVSHMEM_TIMEOUT    seconds for a run (default: 300)
#
# A program passes if it ends with 0 in each way, prints no error, and prints what it has computed: NVSHMEM's examples compare or print values;
# the benchmarks of perftest compare nothing, and have to print a time for each size. The programs and their output stay in the build folder, in
# external_nvshmem, with table.md, a table of them; a later run uses the programs again: remove the folder after a change of oshcc or a header.
#
# Catches: a name of NVSHMEM that is missing, or whose parameters differ; a program that hangs, ends with an error, or prints a wrong result.
. "${top_srcdir:=.}/test/tap.sh"
[ "${FULMAR_NVSHMEM-}" ] || skip_all "FULMAR_NVSHMEM names no checkout of NVSHMEM"
nvcc=$(command -v "${NVCC:-nvcc}" || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || skip_all "nvcc compiles the programs; it is not installed"
[ -f "$top_builddir/.libs/libcuda_cpu.so" ] || skip_all "this build has no libcuda_cpu.so (libze-dev)"
if ! command -v mpirun > /dev/null; then
    echo "# not on two hosts and not with MPI: mpirun (openmpi-bin) is not installed"
elif why=$("$hosts" can); then
    need_hosts "$0"
else
    echo "# not on two hosts: $why"
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
bin=$(cd "$top_builddir" && pwd)/external_nvshmem
mkdir -p "$bin"
export SHMEM_DEVICE=cuda-cpu OSHCC_CACHE=$bin/cache SHMEM_TEST_SPIN=0

# ---- names --------------------------------------------------------------------------------------------------------------------

# Each routine that NVSHMEM's headers declare is declared here, or has a line in nvshmem_names.txt; and each line is needed.
names() { # options of the compiler
    printf '#include <nvshmem.h>\n#include <nvshmemx.h>\n' > "$work/names.cu"
    "$nvcc" -E -arch=compute_90 "$@" "$work/names.cu" | grep -oE '\bnvshmemx?_[A-Za-z0-9_]+ *\(' | tr -d ' (' | sort -u
}
# CMake writes these three headers; a checkout that it has not configured has their sources, of which the names need no options.
for header in nvshmem_build_options.h nvshmem_version.h device/pt-to-pt/transfer_device.cuh; do
    mkdir -p "$(dirname "$work/configured/non_abi/$header")"
    sed '/^#cmakedefine/d; s/@INFO_BUILD_VARS@/""/; s/@[A-Z_]*@/0/' "$FULMAR_NVSHMEM/src/include/non_abi/$header.in" > "$work/configured/non_abi/$header"
done
names "-I$FULMAR_NVSHMEM/src/include" "-I$work/configured" > "$work/theirs"
names "-I$top_srcdir/include" "-I$top_srcdir/include/nvshmem" "-I$top_srcdir/src" > "$work/ours"
sed '/^#/d; s/ .*//; s/\*/.*/g' "$top_srcdir/include/nvshmem/nvshmem_names.txt" > "$work/patterns"
comm -23 "$work/theirs" "$work/ours" > "$work/missing"
{ grep -vxf "$work/patterns" "$work/missing"; while read -r p; do grep -qx "$p" "$work/missing" || echo "$p: all there"; done < "$work/patterns"; } > "$work/log"
[ "$(wc -l < "$work/theirs")" -gt 3000 ] && [ ! -s "$work/log" ]
ok $? "of $(wc -l < "$work/theirs") names all are there but $(wc -l < "$work/missing"), which nvshmem_names.txt lists" "$work/log"

# ---- compile ------------------------------------------------------------------------------------------------------------------

flags="-gencode arch=compute_90,code=compute_90 -w -I$FULMAR_NVSHMEM/perftest/common -I$work"
mpi_libs=
if mpi=$(mpicxx --showme:compile 2> /dev/null); then
    flags="$flags $mpi -DOMPI_SKIP_MPICXX -DNVSHMEMTEST_MPI_SUPPORT" mpi_libs="$(mpicxx --showme:libdirs | sed 's/[^ ]* */-L&/g') -lmpi"
else
    echo "# not with MPI: mpicxx (libopenmpi-dev) is not installed"
fi
# perftest opens NVIDIA's library for management; where the toolkit is without its header, these are the names that perftest uses.
echo '#include <nvml.h>' | "$nvcc" -x c -E - > /dev/null 2>&1 || cat > "$work/nvml.h" << 'END'
#define NVML_API_VERSION 11
typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef int nvmlGpuP2PCapsIndex_enum, nvmlGpuP2PStatus_t;
enum { NVML_SUCCESS };
END
compile() { # ARGUMENTS
    # shellcheck disable=SC2086
    $OSHCC --cuda $flags "$@"
}
program() { # FILE: to $bin
    name=$(basename "${1%.*}")
    [ -x "$bin/$name" ] && return
    set -- "$1"
    case $1 in
    */perftest/*) set -- "$1" "$bin/utils.o" ;;
    *-init.cu | *-mpi.cu) set -- "$1" $mpi_libs ;;
    esac
    compile "$@" -o "$bin/$name" > "$bin/$name.log" 2>&1
}
export -f compile program
export work bin flags mpi_libs OSHCC
[ -f "$bin/utils.o" ] || compile -c "$FULMAR_NVSHMEM/perftest/common/utils.cu" -o "$bin/utils.o" > "$work/log" 2>&1
ok $? "the functions that perftest's programs share compile" "$work/log"
for file in "$FULMAR_NVSHMEM"/{examples,perftest/device/{pt-to-pt,coll},perftest/host/{pt-to-pt,coll,init}}/*.c{u,pp}; do
    name=$(basename "${file%.*}")
    [ -z "${NVSHMEM_PROGRAMS-}" ] || [[ " $NVSHMEM_PROGRAMS " == *" $name "* ]] || continue
    case $name in
    mpi-based-init | uid-based-init | *-mpi) [ "$mpi" ] || continue ;;
    redmaxloc_latency) continue ;; # not in NVSHMEM's makefiles, uses a macro that nothing defines
    esac
    [ ! -f "$file" ] || echo "$file"
done > "$work/files"
# The first program fills the cache of what oshcc adds to each.
bash -c 'program "$1"' program "$(head -n 1 "$work/files")"
xargs -n1 -P2 bash -c 'program "$1"' program < "$work/files"

# ---- run ----------------------------------------------------------------------------------------------------------------------

arguments() { # FILE
    case $1 in
    */moe_shuffle.cu) echo "-b 8 -t 64" ;;
    */ring-reduce.cu) echo "-b 65536 -e 65536 -m 1024 -c 4 -t 32" ;; # of several sizes one begins while a PE still compares the last
    */stream_latency.cu) echo "-s 8 -S 64 -n 2 -b 2 -t 32" ;;
    */pt-to-pt/*) echo "-b 8 -e 64 -n 2 -w 1 -c 2 -t 32" ;;
    */perftest/*) echo "-b 8 -e 64 -n 2 -w 1" ;;
    esac
}
numbers() { # FILE: with how many PEs
    case $1 in
    */moe_shuffle.cu) echo 16 ;; # has 16 experts, and takes the counts of as many PEs
    */pt-to-pt/*) echo 2 ;;      # says so, and ends, with others
    *) echo "${FULMAR_TEST_PES:-1 2 4}" ;;
    esac
}
tries() { # NAME
    [ "$1" != put-block ] || seq 2 20 # a PE compares its data without waiting for the PE that puts it
    echo 1
}
right() { # NAME, PES, LOG: did the program print what it has to?
    ! grep -v 'No errors found' "$3" | grep -qiE 'error|mismatch|incorrect|fail|assert|^fulmar:|^ze_cpu:|[^a-z](nan|inf)\b' || return 1
    case $1 in
    dev-guide-ring*) for ((pe = 0; pe < $2; pe++)); do grep -qx "$pe: received message $(((pe + $2 - 1) % $2))" "$3" || return 1; done ;;
    hello) [ "$(grep -c "Hello from PE [0-9]* of $2$" "$3")" = "$2" ] ;;
    collective-launch) for ((pe = 0; pe < $2; pe++)); do grep -qx "results on device \[$pe\] is $(($2 * ($2 - 1) / 2 + pe)) *" "$3" || return 1; done ;;
    on-stream | thread-group | put-block | mpi-based-init | uid-based-init) [ "$(grep -c "of $2] run complete" "$3")" = "$2" ] ;;
    ring-reduce) grep -qE '^[0-9]+B.*ms$' "$3" ;;
    malloc) grep -q '^# *malloc' "$3" ;; # prints no time of 0 us
    user-buffer) [ "$(grep -c 'No errors found' "$3")" = "$2" ] ;;
    moe_shuffle | ring-bcast | shmem-based-init) ;; # print only errors
    *) grep -qE '^(&&&& PERF|[0-9]+ +[^ ]+.* [0-9]+\.[0-9]+)' "$3" ;;
    esac
}
run() { # WAY, PES, PROGRAM, ARGUMENTS
    local way=$1 pes=$2
    shift 2
    case $way in
    host) timeout "${NVSHMEM_TIMEOUT:-300}" $OSHRUN -n "$pes" "$@" ;;
    ring) SHMEM_TEST_DEVICE_DIRECT=0 timeout "${NVSHMEM_TIMEOUT:-300}" $OSHRUN -n "$pes" "$@" ;;
    hosts) timeout "${NVSHMEM_TIMEOUT:-300}" "$hosts" in h1 $OSHRUN --engine mpirun -H "h1:$((pes / 2)),h2:$((pes / 2))" -n "$pes" -x SHMEM_DEVICE "$@" ;;
    mpi) NVSHMEMTEST_USE_MPI_LAUNCHER=1 timeout "${NVSHMEM_TIMEOUT:-300}" mpirun --map-by :oversubscribe -n "$pes" "$@" ;;
    uid) NVSHMEMTEST_USE_UID_BOOTSTRAP=1 timeout "${NVSHMEM_TIMEOUT:-300}" mpirun --map-by :oversubscribe -n "$pes" "$@" ;;
    esac > "$work/log" 2>&1 < /dev/null
}
possible() { # WAY, PES, FILE
    case $1 in
    # shmem_st_bw stores to what nvshmem_ptr returns; in put-block a PE with a neighbour on its host compares before the other host's data comes.
    hosts) [ "$2" -gt 1 ] && [ "$FAKE_HOSTS" ] && [[ $3 != */shmem_st_bw.cu && ($3 != */put-block.cu || $2 = 2) ]] ;;
    mpi) [ "$mpi" ] && [ "$2" = 2 ] && { [[ $3 == */perftest/* ]] || grep -q NVSHMEMTEST_MPI_SUPPORT "$3"; } ;;
    uid) [ "$mpi" ] && [ "$2" = 2 ] && [[ $3 == */perftest/* ]] ;;
    esac
}
# The table of what the last runs of each program have given.
table() {
    echo "| program | what it prints | one host, PEs | two hosts, PEs | other ways | failed |"
    echo "|---|---|---|---|---|---|"
    sed -n 's/^# \([a-z0-9_-]*\), \([a-z]*\), \([0-9]*\) PEs: [0-9]* s\(.*\)$/\1 \2 \3 \4/p' "$bin/rows" | awk '
        { last[$1, $2, $3] = $4; if (!($1 in seen)) { seen[$1] = 1; names[++n] = $1 }; if (!(($2, $3) in ways)) { ways[$2, $3] = 1; w[++m] = $2; p[m] = $3 } }
        END {
            for (i = 1; i <= n; i++) {
                name = names[i]; one = two = other = bad = ""
                for (k = 1; k <= m; k++) {
                    if (!((name, w[k], p[k]) in last)) continue
                    if (last[name, w[k], p[k]] != "") bad = bad " " w[k] "-" p[k]
                    else if (w[k] == "host") one = one " " p[k]
                    else if (w[k] == "hosts") two = two " " p[k]
                    else other = other " " w[k] "-" p[k]
                }
                kind = name ~ /^(put-block|ring-|user-buffer|dev-guide|collective)/ ? "values, compared" : name ~ /(_bw|_latency|_on_stream|^bw|^latency|^malloc)$/ ? "times" : "its end"
                print "| `" name "` | " kind " |" one " |" two " |" other " |" bad " |"
            }
        }'
}
total=0 passed=0
ways=${NVSHMEM_WAYS:-host hosts}
while read -r file; do
    name=$(basename "${file%.*}") total=$((total + 1)) bad=
    if [ ! -x "$bin/$name" ]; then
        ok 1 "$name compiles" "$bin/$name.log"
        continue
    fi
    args=$(arguments "$file")
    for way in $ways; do
        for pes in $(numbers "$file"); do
            possible "$way" "$pes" "$file" || continue
            began=$SECONDS
            # shellcheck disable=SC2086
            for _ in $(tries "$name"); do
                run "$way" "$pes" "$bin/$name" $args && right "$name" "$pes" "$work/log"
                status=$?
                [ $status != 0 ] || break
            done
            cp "$work/log" "$bin/$name.$way-$pes.log"
            echo "# $name, $way, $pes PEs: $((SECONDS - began)) s$([ $status = 0 ] || echo ', FAILED')" | tee -a "$bin/rows"
            [ $status = 0 ] || bad="$bad $way-$pes"
        done
    done
    [ ! "$bad" ] && passed=$((passed + 1))
    ok $? "$name${bad:+: failed:$bad}" "$bin/$name.${bad##* }.log"
done < "$work/files"
echo "# $passed of $total programs pass"
table | tee "$bin/table.md" | sed 's/^/# /'
plan
