#!/usr/bin/env bash
# wheel.sh - make wheel; the wheel, installed by pip without network into a fresh environment, runs the package's tests and C programs.
#
# PYTHON names the interpreter (default python3, else the system's), which needs numpy, pip and wheel. Catches: a file that is missing in the
# wheel, that needs something outside, or that needs a newer glibc than the wheel's name promises; errors of the Python package.
. "${top_srcdir:=.}/test/tap.sh"
for python in ${PYTHON:-python3 /usr/bin/python3} none; do
    ! $python -c 'import numpy, pip, venv, wheel' 2> /dev/null || break
done
[ $python != none ] || skip_all "no Python with numpy, pip, venv and wheel (python3-numpy, python3-pip, python3-venv, python3-wheel)"
command -v patchelf > /dev/null || skip_all "patchelf is not installed"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
export PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH LD_LIBRARY_PATH

PYTHON=$python make -C "$top_builddir" wheel WHEELS="$work/out" > "$log" 2>&1 &&
    file=$(ls "$work"/out/fulmar-*-py3-none-manylinux_2_34_"$(uname -m)".whl)
ok $? "make wheel" "$log"
$python -m venv --system-site-packages --without-pip "$work/venv" > "$log" 2>&1 &&
    "$work/venv/bin/python" -m pip install -q --no-index --no-compile "$file" >> "$log" 2>&1
ok $? "pip installs it without a network" "$log"
PATH=$work/venv/bin:/usr/bin:/bin
site=$(echo "$work"/venv/lib/python*/site-packages)
elf=$(find "$site" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF && echo "$1"' sh {} \;)

for f in $elf; do ldd "$f"; done | grep '=>' | grep -Ev " => $work/|^[[:space:]](libc|libm)\.so" > "$log"
[ "$(echo "$elf" | wc -l)" -ge 12 ] && [ ! -s "$log" ]
ok $? "its libraries need none outside of it but glibc" "$log"
for f in $elf; do objdump -T "$f"; done | grep -oE 'GLIBC_[0-9.]+' | sort -uV > "$log"
[ "$(tail -1 "$log")" = GLIBC_2.34 ]
ok $? "no symbol is newer than glibc 2.34" "$log"

cp "$top_srcdir/examples/hello.c" "$work" && oshcc "$work/hello.c" -o "$work/hello" > "$log" 2>&1 &&
    timeout 60 oshrun -n 2 "$work/hello" > "$work/out.txt" 2>> "$log" &&
    [ "$(sort "$work/out.txt")" = "$(printf 'Hello from PE %d of 2\n' 0 1)" ]
ok $? "its oshcc and oshrun build and run a C program" "$log"
oshinfo > "$log" 2>&1
ok $? "its oshinfo" "$log"

kernels= why="LLVM with llvm-spirv or the device backend is missing"
if (. "$top_srcdir/src/tools/llvm.sh" && find_llvm) && [ -f "$site/fulmar/prefix/lib/libze_cpu.so" ]; then
    oshcc -shared -fPIC "$top_srcdir/python/test/kernels.cl" -o "$work/kernels.so" > "$log" 2>&1
    ok $? "its oshcc compiles kernels" "$log"
    kernels=$work/kernels.so
else
    skip "kernels" "$why"
fi
if [ "$kernels" ] && clang --print-targets 2> /dev/null | grep -q nvptx64; then
    python -c 'from fulmar import device; print(device.library(), device.library("ptx"), device.library("numba"))' > "$log" 2>&1
    ok $? "it has the device library for Triton and Numba" "$log"
fi
tests() { # what, PEs, environment
    what=$1 n=$2
    shift 2
    env "$@" FULMAR_TEST_KERNELS="$kernels" timeout 100 oshrun -n "$n" python -m unittest discover -s "$top_srcdir/python/test" \
        > "$log" 2>&1 && [ "$(grep -c '^OK' "$log")" = "$n" ] && [ "$(grep -c "^PE [0-9]* of $n\$" "$log")" = "$n" ] && ! grep -q '^Ran 0' "$log"
    ok $? "the package's tests, $n PEs$what" "$log"
}
tests "" 1
tests "" 2
tests "" 4
tests ", network" 2 SHMEM_TRANSPORT=ofi
without_launcher() { # way, PEs
    way=$1 n=$2 pids=
    mkdir "$work/$way"
    for rank in $(seq $((n - 1)) -1 0); do
        FULMAR_TEST_INIT="$way $work/$way $rank $n" FULMAR_TEST_KERNELS="$kernels" timeout 100 python -m unittest discover \
            -s "$top_srcdir/python/test" > "$work/$way/log.$rank" 2>&1 &
        pids="$pids $!"
    done
    failed=0
    for pid in $pids; do wait "$pid" || failed=1; done
    cat "$work/$way"/log.* > "$log"
    [ $failed = 0 ] && [ "$(grep -c '^OK' "$log")" = "$n" ] && [ "$(grep -c "^PE [0-9]* of $n\$" "$log")" = "$n" ] &&
        [ ! -e "$work/$way/id" ]
    ok $? "the package's tests, $n PEs without a launcher, by an id from $way" "$log"
}
without_launcher file 2
without_launcher store 3
without_launcher mpi 1
if [ -f "$site/fulmar/prefix/lib/libcuda_cpu.so" ]; then
    kernels= && tests ", CUDA on the CPU" 2 SHMEM_DEVICE=cuda-cpu
fi
plan
