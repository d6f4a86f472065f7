#!/usr/bin/env bash
# external_apps.sh - others' programs, unchanged and built as their own files say; each checks its answer. On a node and over the network.
#
#   APPS=DIR make check TESTS=test/external_apps.sh
#   APPS        a folder of checkouts, each under the name that git clone gives it:
#               https://github.com/ornl-languages/osb (39cfcad)      Graph500
#               https://github.com/openshmem-org/openshmem-npbs (0028e8d)  NAS IS; in Fortran: BT, EP, MG, SP
#               https://github.com/UK-MAC/CloverLeaf_OpenSHMEM (c84472b)   hydrodynamics, in Fortran
#               https://github.com/openshmem-org/gups-shmem (3558ffa) HPC Challenge's RandomAccess
#               https://github.com/ParRes/Kernels (04248b66)         Stencil, Transpose, Synch_p2p
#               https://github.com/ParRes/ISx (d31936a)              a sort
#               https://github.com/jdevinney/bale (1b8f673)          sparse matrices, permutations, histograms
#   APPS_WAYS   how to run them; default: node:4 node:8 ofi:4 (SHMEM_TRANSPORT and the number of PEs); bale also with 64 PEs on a node
#   APPS_TOOLS  a folder with another library's oshcc, oshc++, oshfort and oshrun, for comparisons; APPS_RUN then starts N PEs: "oshrun --oversubscribe -n"
#
# Prints the seconds of each run. Programs are built once, in external_apps of the build folder. All takes some ten minutes.
# Catches: a routine with other results on this library; a wait that never ends; a header that a program for an earlier version cannot include.
. "${top_srcdir:=.}/test/tap.sh"
[ -d "${APPS:=none}" ] || skip_all "APPS does not name a folder of checkouts"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tools=${APPS_TOOLS:-$top_builddir/src/tools} run=${APPS_RUN:-oshrun -n} APPS=$(cd "$APPS" && pwd)
tools=$(cd "$tools" && pwd) bin=$(cd "$top_builddir" && pwd)/external_apps${APPS_TOOLS:+_other}
mkdir -p "$bin"
export PATH=$tools:$PATH MAKEFLAGS='' SHMEM_TEST_SPIN=0

# build REPOSITORY COMMAND: copy a checkout and build in it, unless that is done. Fails if there is no checkout.
build() {
    [ ! -e "$bin/$1/built" ] || return 0
    if [ ! -d "$APPS/$1" ]; then
        skip "$1 is built" "APPS has no checkout of it"
        return 1
    fi
    rm -rf "${bin:?}/$1"
    cp -RL "$APPS/$1" "$bin/$1"
    (cd "$bin/$1" && eval "$2") > "$work/log" 2>&1 && touch "$bin/$1/built"
    ok $? "$1 is built" "$work/log"
    [ -e "$bin/$1/built" ]
}

# answer NAME GOOD BAD COMMAND: runs in the current folder, ends with 0, prints a line that matches GOOD and none that matches BAD.
answer() {
    local begin status
    begin=$(date +%s%N)
    timeout 300 sh -c "$4" > "$work/log" 2>&1
    status=$?
    [ $status -eq 0 ] && grep -Eq "$2" "$work/log" && ! grep -Eq "$3" "$work/log"
    ok $? "$1, $way" "$work/log"
    echo "# $(((($(date +%s%N) - begin) / 10000000)))0 ms, exit status $status"
}

# The source of Graph500 has functions with names that are collectives over teams since 1.5.
osb() {
    cd "$bin/osb/Graph500/mpi" && SHORT_VALIDATION=1 answer "Graph500, 4096 vertices, 65536 edges" 'NBFS: +8$' '[Ff]ailed|error' \
        "$run $n ./graph500_shmem_one_sided 12 16"
}

openshmem-npbs() {
    cd "$bin/openshmem-npbs/C" && answer "NAS IS, class A" 'Verification += +SUCCESSFUL' 'UNSUCCESSFUL' "$run $n bin/is.A.$n"
    [ -e "$bin/openshmem-npbs/Fortran/bin/mg.A.4" ] || return
    cd "$bin/openshmem-npbs/Fortran" || return
    answer "NAS MG, class A" 'Verification += +SUCCESSFUL' 'UNSUCCESSFUL' "$run $n bin/mg.A.$n"
    answer "NAS EP, class A" 'Verification += +SUCCESSFUL' 'UNSUCCESSFUL' "$run $n bin/ep.A.$n"
    [ "$n" = 4 ] || return # a square
    answer "NAS BT, class W" 'Verification +Successful' '[Uu]nsuccessful|failed' "$run 4 bin/bt.W.4"
    answer "NAS SP, class W" 'Verification +Successful' '[Uu]nsuccessful|failed' "$run 4 bin/sp.W.4"
}

# Without clover.in it writes that of its own test problem.
CloverLeaf_OpenSHMEM() {
    mkdir -p "$work/clover" && cd "$work/clover" && rm -f clover.*
    export OMP_NUM_THREADS=1
    answer "CloverLeaf, its test problem" 'considered PASSED' 'NOT PASSED' "$run $n $bin/CloverLeaf_OpenSHMEM/clover_leaf"
}

gups-shmem() {
    cd "$bin/gups-shmem" && answer "RandomAccess" 'Found 0 errors' 'failed' "$run $n ./gups"
}

Kernels() {
    cd "$bin/Kernels/SHMEM" || return
    answer "PRK Stencil" 'Solution validates' 'ERROR' "$run $n Stencil/stencil 20 1000"
    answer "PRK Transpose" 'Solution validates' 'ERROR' "$run $n Transpose/transpose 20 1024"
    answer "PRK Synch_p2p" 'Solution validates' 'ERROR' "$run $n Synch_p2p/p2p 10 1000 1000"
}

ISx() {
    cd "$bin/ISx/SHMEM" && answer "ISx, 1,048,576 keys a PE" 'total time' 'Failed' "$run $n bin/isx.weak 1048576 $work/isx"
}

# Sizes are of one PE. bale compares the results of its implementations with those of plain loops.
bale() {
    cd "$bin/bale/src/bale_classic" || return
    local size=400
    [ "$n" -lt 64 ] || size=100
    for program in "histo -n 20000" "ig -n 20000" "randperm -n 4000" "transpose_matrix -n $size" "permute_matrix -n $size" "topo -n $size" \
        "triangles -n $size" "sssp -n $size"; do
        answer "bale ${program%% *}" 'Conveyor' '[Ee]rror|ERROR|FAILED' "$run $n build_unknown/bin/$program"
    done
}

# OpenSHMEM of others may have an oshfort.
fortran=false no_fortran="there is no oshfort: gfortran is not installed"
if [ "$APPS_TOOLS" ]; then
    ! command -v "$tools/oshfort" > /dev/null || fortran=true
elif command -v gfortran > /dev/null; then
    fortran=true
    "$top_srcdir/contrib/fortran/build.sh" "$bin/fortran" > "$work/log" 2>&1
    ok $? "contrib/fortran is built" "$work/log"
    export PATH=$bin/fortran/bin:$PATH
fi

prk='SHMEMCC=oshcc\nDEFAULT_OPT_FLAGS=-O3\n'
for repository in osb openshmem-npbs CloverLeaf_OpenSHMEM gups-shmem Kernels ISx bale; do
    case $repository in
    osb) how="(cd Graph500 && cp make-incs/make.inc.oshmem.gcc make.inc && echo 'CFLAGS += -O2 -DSHMEM_NO_TEAM_COLLECTIVES' >> make.inc &&
              make -C mpi graph500_shmem_one_sided)" ;;
    openshmem-npbs) how="cd C && cp config/make.def.template config/make.def && export OSHCC_CC=mpicc && for n in 4 8 64; do make is CLASS=A NPROCS=\$n || exit; done
              $fortran || exit 0; cd ../Fortran && cp config/make.def.template config/make.def && export FC=mpif90 && for b in mg.A.4 mg.A.8 ep.A.4 ep.A.8 bt.W.4 sp.W.4; do
              make \${b%%.*} CLASS=\$(echo \$b | cut -d. -f2) NPROCS=\${b##*.} FFLAGS='-O3 -I./ -fallow-argument-mismatch -fallow-invalid-boz' || exit; done" ;;
    CloverLeaf_OpenSHMEM) $fortran || { skip "CloverLeaf is built" "$no_fortran" && continue; }
        how="make COMPILER=GNU MPI_COMPILER=oshfort C_MPI_COMPILER=gcc OPTIONS='-cpp -fcray-pointer -fallow-argument-mismatch' && [ -x clover_leaf ]" ;;
    gups-shmem) how="make CC=oshcc" ;;
    Kernels) how="printf '$prk' > common/make.defs && make -C SHMEM/Stencil stencil && make -C SHMEM/Transpose transpose &&
              make -C SHMEM/Synch_p2p p2p" ;;
    ISx) how="make -C SHMEM CFLAGS='-std=gnu99 -O3'" ;;
    bale) how="cd src/bale_classic && ./bootstrap.sh && CC=oshcc ./make_bale -s" ;;
    esac
    build $repository "$how" || continue
    for way in ${APPS_WAYS:-node:4 node:8 ofi:4}; do
        n=${way#*:}
        case $way in
        node:*) export SHMEM_TRANSPORT=auto ;;
        *) export SHMEM_TRANSPORT=${way%:*} ;;
        esac
        $repository
    done
    [ $repository != bale ] || [ -n "$APPS_WAYS" ] || { way=node:64 n=64 SHMEM_TRANSPORT=auto bale; }
done
plan
