#!/bin/sh
# libfabric_ze.sh SOURCE PREFIX - build libfabric with Level Zero, for hmem.sh, outside this tree.
# SOURCE: a folder of libfabric's sources, a release's tar file, or the URL of one (curl or wget fetches it).
# PREFIX: where to install it; hmem.sh then runs with FULMAR_LIBFABRIC_ZE=PREFIX/lib.
# Builds the providers that need no NIC, of which shm has FI_HMEM. Level Zero's headers (libze-dev) are needed, a device is not.
# Sources from git also need autoconf, automake and libtool. ZE_PREFIX (/usr): where Level Zero's headers and loader are.
set -e
die() {
    echo "libfabric_ze.sh: $*" >&2
    exit 1
}
[ $# -eq 2 ] || die "usage: libfabric_ze.sh SOURCE PREFIX"
source=$1
mkdir -p "$2" || exit 1
prefix=$(cd "$2" && pwd)
ze=${ZE_PREFIX:-/usr}
[ -e "$ze/include/level_zero/ze_api.h" ] || die "$ze/include/level_zero/ze_api.h is missing (package libze-dev, or set ZE_PREFIX)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $source in
*://*)
    if command -v curl > /dev/null; then curl -fsSL -o "$work/tar" "$source"; else wget -q -O "$work/tar" "$source"; fi ||
        die "$source cannot be fetched"
    source=$work/tar
    ;;
esac
mkdir "$work/source"
if [ -d "$source" ]; then
    [ -f "$source/configure.ac" ] && [ -d "$source/prov/shm" ] || die "$source has no sources of libfabric"
    (cd "$source" && tar -cf - --exclude=.git .) | tar -xf - -C "$work/source"
else
    tar -xf "$source" -C "$work/source" --strip-components=1 || die "$source is no tar file"
    [ -d "$work/source/prov/shm" ] || die "$source has no sources of libfabric"
fi

cd "$work/source"
[ -f configure ] || ./autogen.sh > "$work/log" 2>&1 || { tail -20 "$work/log"; die "autogen.sh failed"; }
# The loader is opened at run time (dlopen), as the library opens it, so that both use the same driver.
providers=
for name in cxi efa gni lnx lpp mrail opx perf psm2 psm3 psmx2 rxd sm2 sockets ucx udp usnic verbs; do
    [ ! -d "prov/$name" ] || providers="$providers --enable-$name=no"
done
./configure -q --prefix="$prefix" --with-ze="$ze" --enable-ze-dlopen --enable-shm=yes --enable-tcp=yes $providers \
    > "$work/log" 2>&1 || { tail -20 "$work/log"; die "configure failed"; }
make -s -j"$(nproc)" install > "$work/log" 2>&1 || { tail -20 "$work/log"; die "make failed"; }
"$prefix/bin/fi_info" --version | head -2
echo "FULMAR_LIBFABRIC_ZE=$prefix/lib"
