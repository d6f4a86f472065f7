#!/bin/sh
# build.sh - build Global Arrays with ComEx over Fulmar's OpenSHMEM, in FOLDER/ga.
#
#   contrib/comex/build.sh FOLDER [OPTION OF GA'S configure]...
#   GA_SOURCE   a checkout of Global Arrays; without it, the version below is fetched by git
#   oshcc       is found in PATH; so are mpicc and mpif90 of the MPI with which programs will run
#
# The upstream's files are unchanged: this folder takes the place of ComEx's port over MPI's two-sided messages (comex/src-mpi).
set -e
version=v5.9.2
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
for tool in oshcc mpicc mpif90 autoreconf; do
    command -v $tool > /dev/null || { echo "build.sh: $tool is not in PATH" >&2; exit 1; }
done
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
if [ -n "$GA_SOURCE" ]; then
    mkdir "$folder/ga"
    cp -R "$GA_SOURCE/." "$folder/ga"
else
    git clone -q --depth 1 -b $version https://github.com/GlobalArrays/ga "$folder/ga"
fi
cd "$folder/ga"
rm -f comex/src-mpi/*
cp "$here"/*.c "$here"/*.h "$here/Makefile.inc" comex/src-mpi
flags=$(oshcc --show)
flags=${flags#* }
autoreconf -if > autoreconf.log 2>&1 || { tail autoreconf.log >&2; exit 1; }
./configure -q --enable-opt --with-mpi-ts --disable-shared --without-blas --without-lapack --without-scalapack \
    CPPFLAGS="$flags" LIBS="$flags" "$@" > configure.log 2>&1 || { tail configure.log >&2; exit 1; }
make -s -j"$(nproc)" > make.log 2>&1 || { tail make.log >&2; exit 1; }
echo "Global Arrays is built in $folder/ga; its tests: make -C $folder/ga check LOG_COMPILER='mpirun -n 4'"
