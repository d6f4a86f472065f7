#!/usr/bin/env bash
# carry.sh - collect the files that run.sh needs on a machine with a GPU but without a package registry: packages to
# unpack, configure and its helpers, and kernels compiled to fatbins if nvcc is installed here. Run it on a machine with
# apt, after autoreconf -i; then copy the folder along with the sources. It contains the libraries and headers of the
# launcher and of the 2-D heat equation.
#
#   usage: test/gpu/carry.sh [DIR]      from the root of a source tree; DIR defaults to test/gpu/carried
set -eu
dir=${1:-test/gpu/carried}
mkdir -p "$dir"
dir=$(realpath "$dir")
top=$PWD
# PMIx and its dependencies (libevent, hwloc, munge, zlib; the system's copies take precedence).
(cd "$dir" && rm -f ./*.deb &&
    apt-get download libpmix2 libpmix-dev libhwloc15 libhwloc-dev libevent-core-2.1-7 libevent-pthreads-2.1-7 libmunge2 \
        libudev1 libfabric-dev libpng16-16 libpng-dev > /dev/null)
tar -czhf "$dir/configure.tar.gz" configure config.h.in Makefile.in aclocal.m4 build-aux m4
if command -v nvcc > /dev/null; then
    for k in test/gpu/litmus test/gpu/bench test/gpu/compare examples/heat bench/ring; do
        nvcc -x cu -std=c++17 -O3 -t 3 -fatbin -gencode arch=compute_80,code=sm_80 \
            -gencode "arch=compute_90,code=[sm_90,compute_90]" "-I$top/include" "-I$top/src" "$top/$k.cl" \
            -o "$dir/${k##*/}.fatbin"
    done
else
    echo "carry.sh: nvcc not found here: the machine with the GPU must have it" >&2
fi
du -sh "$dir"
