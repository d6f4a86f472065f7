#!/usr/bin/env bash
# shmem4py.sh - shmem4py, the Python bindings of OpenSHMEM: with pkg/python/shmem4py.patch: its own tests, its demos,
# examples/client.py and examples/kernel.py.
#
# SHMEM4PY names its source tree, which the test copies; PYTHON names the interpreter (default python3), which needs
# cffi, numpy and setuptools. Catches: a routine that Python programs cannot call, or that returns wrong results to
# them.
. "${top_srcdir:=.}/test/tap.sh"
python=${PYTHON:-python3}
if [ ! -f "${SHMEM4PY:=none}/src/ffibuilder.py" ]; then
    echo "1..0 # SKIP SHMEM4PY does not name a source tree of shmem4py"
    exit 0
fi
if ! $python -c 'import cffi, numpy, setuptools' 2> /dev/null; then
    echo "1..0 # SKIP $python lacks cffi, numpy or setuptools"
    exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
cp -r "$SHMEM4PY" "$work/shmem4py" && cd "$work/shmem4py" && rm -rf build src/shmem4py/*.so || exit 99

unset CC # of two words, such as "ccache gcc", shmem4py replaces the first only

patch -p1 < "$top_srcdir/pkg/python/shmem4py.patch" > "$log" 2>&1
ok $? "the patch fits" "$log"
$python setup.py build build_ext --inplace > "$log" 2>&1
ok $? "shmem4py builds" "$log"
PYTHONPATH=$work/shmem4py/src && export PYTHONPATH
for check in 0 1; do
    for n in 1 2 3 4; do
        SHMEM_CHECK=$check timeout 300 $OSHRUN -n $n $python -m unittest discover -s test > "$log" 2>&1 &&
            [ "$(grep -c '^OK' "$log")" = $n ] && ! grep -q '^Ran 0' "$log"
        ok $? "its tests, $n PEs, SHMEM_CHECK=$check" "$log"
    done
done
for n in 1 4; do
    for demo in demo/*.py; do
        timeout 100 $OSHRUN -n $n $python "$demo" > "$log" 2>&1
        ok $? "$demo, $n PEs" "$log"
    done
    squares=$(awk -v n=$n 'BEGIN { for (i = 0; i < 4; i++) printf " %d", n * i * i + n * (n - 1) / 2 }')
    timeout 100 $OSHRUN -n $n $python "$top_srcdir/examples/client.py" > "$work/out" 2> "$log" &&
        [ "$(cat "$work/out")" = "sums over $n PEs:$squares" ]
    ok $? "examples/client.py, $n PEs" "$log"
done
if ! (. "$top_srcdir/src/tools/llvm.sh" && find_llvm); then
    skip "examples/kernel.py" "no LLVM that can compile kernels"
else
    $OSHCC -O2 -shared -fPIC "$top_srcdir/examples/pass.cl" -o "$work/pass.so" > "$log" 2>&1
    ok $? "a shared library of a kernel builds" "$log"
    for n in 1 4; do
        passed=$(awk -v n=$n 'BEGIN { for (i = 0; i < n; i++) printf " %d", (i + n - 1) % n * 10 }')
        timeout 100 $OSHRUN -n $n $python "$top_srcdir/examples/kernel.py" "$work/pass.so" > "$work/out" 2> "$log" &&
            [ "$(cat "$work/out")" = "the kernels passed:$passed" ]
        ok $? "examples/kernel.py, $n PEs" "$log"
    done
fi
plan
