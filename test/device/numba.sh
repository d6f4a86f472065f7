#!/usr/bin/env bash
# numba.sh - kernels of Numba with libfulmar_numba.ptx, and Numba's arrays and streams with the Python package, on the CUDA driver for the CPU.
# Catches: a function that is not as Numba calls it, a call of the driver that Numba needs, an interface of arrays that Numba does not understand.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/src/tools/llvm.sh"
find_llvm && "$clang" -print-targets 2> /dev/null | grep -q nvptx64 || skip_all "no clang with the target nvptx64"
[ -f "$top_builddir/.libs/libcuda_cpu.so" ] || skip_all "no CUDA driver for the CPU (libze-dev is missing)"
for python in ${PYTHON:-python3 /usr/bin/python3} none; do
    ! $python -c 'import numba' 2> /dev/null || break
done
[ $python != none ] || skip_all "no Python with Numba (python3-numba)"
for toolkit in "${CUDA_HOME:-/usr/local/cuda}" none; do
    nvvm=$(find -L "$toolkit" -name libnvvm.so 2> /dev/null | head -n 1)
    [ -z "$nvvm" ] || [ ! -d "$toolkit/nvvm/libdevice" ] || break
done
[ "$toolkit" != none ] || skip_all "no CUDA toolkit with libnvvm and libdevice"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log

# The folders in which Numba looks, wherever this toolkit has them.
mkdir -p "$work/cuda/nvvm"
ln -s "$(dirname "$nvvm")" "$work/cuda/nvvm/lib64"
ln -s "$toolkit/nvvm/libdevice" "$work/cuda/nvvm/libdevice"
ln -s "$(dirname "$(find -L "$toolkit" -name 'libcudart.so*' | head -n 1)")" "$work/cuda/lib64"
make -s -C "$top_builddir" libfulmar_device.bc > "$log" 2>&1
ok $? "the library is made" "$log"
build=$(cd "$top_builddir" && pwd)
export CUDA_HOME=$work/cuda NUMBA_CUDA_DRIVER=$build/.libs/libcuda_cpu.so FULMAR_DEVICE_LIBRARY=$build
export SHMEM_DEVICE=cuda-cpu PYTHONPATH=$top_srcdir/python LD_LIBRARY_PATH=$build/.libs PYTHONDONTWRITEBYTECODE=1
runs() { # what, PEs, environment
    what=$1 n=$2
    shift 2
    env "$@" timeout 100 $OSHRUN -n "$n" $python "$top_srcdir/test/device/numba_run.py" > "$log" 2>&1 && [ "$(grep -c "^right on $n PEs" "$log")" = "$n" ]
    ok $? "kernels, arrays and streams of Numba, $n PEs$what" "$log"
}
runs "" 1
runs "" 3
runs ", network" 2 SHMEM_TRANSPORT=ofi
plan
