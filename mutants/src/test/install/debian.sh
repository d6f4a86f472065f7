#!/usr/bin/env bash
# debian.sh - the Debian packages: build them from a distribution, check them with lintian, unpack and use them. It
# builds the whole library, so ./check runs it and make check does not.
#
# Catches: a file missing from the packages or the distribution; a path in the packages that exists only on the build
# machine; a file that another package has; a file that stays after the packages are purged.
if ! command -v dpkg-buildpackage > /dev/null || ! command -v dh > /dev/null; then
    echo "1..0 # SKIP dpkg-dev and debhelper build Debian packages; they are not installed"
    exit 0
fi
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log

# Without optimisation: the build takes two thirds of the time, and other tests run optimised code.
make -C "$top_builddir" distdir distdir="$work/fulmar" > "$log" 2>&1 && cd "$work/fulmar" && chmod -R u+w . &&
    DEB_BUILD_OPTIONS="nocheck noopt parallel=$(nproc)" dpkg-buildpackage -us -uc -b -d >> "$log" 2>&1
ok $? "dpkg-buildpackage" "$log"
if git -C "$top_srcdir" ls-files > "$work/tracked" 2> /dev/null; then
    grep -vE '^\.(ci|clang-format|editorconfig)|\.git[a-z]*$' "$work/tracked" | while read -r file; do
        [ -e "$file" ] || echo "$file"
    done > "$log"
    [ ! -s "$log" ]
    ok $? "the distribution has all files of the repository" "$log"
fi
[ "$(dpkg-parsechangelog -S Version)" = "$(sed -n 's/^AC_INIT(\[fulmar\], \[\(.*\)\])/\1/p' configure.ac)" ]
ok $? "debian/changelog has the version of configure.ac"
if command -v lintian > /dev/null; then
    lintian --fail-on error ../fulmar_*.changes > "$log" 2>&1
    ok $? "lintian finds no error" "$log"
else
    skip "lintian" "it is not installed"
fi

root=$work/root
for package in fulmar-bin libfulmar1 libfulmar-dev libze-cpu; do
    dpkg -x "$work/${package}"_[0-9]*.deb "$root" || break
done
ok $? "the packages unpack"
"$root/usr/bin/oshcc.fulmar" examples/hello.c -o hello > "$log" 2>&1 && "$root/usr/bin/oshrun.fulmar" -n 2 ./hello > out 2>> "$log" &&
    [ "$(sort out)" = "$(printf 'Hello from PE %d of 2\n' 0 1)" ]
ok $? "a program builds and runs with the packages" "$log"
if (. src/tools/llvm.sh && find_llvm); then
    "$root/usr/bin/oshcc.fulmar" examples/pass.c examples/pass.cl -o pass > "$log" 2>&1 &&
        "$root/usr/bin/oshrun.fulmar" -n 2 ./pass > out 2>> "$log" && [ "$(sort out)" = "$(printf 'PE %d of 2: %d\n' 0 10 1 0)" ]
    ok $? "a program with a kernel builds and runs with the packages" "$log"
else
    skip "a program with a kernel" "LLVM with llvm-spirv is not installed"
fi
! find "$root/usr/lib" "$root/usr/bin" -type f -exec readelf -d {} + 2> "$log" | grep -E 'R(UN)?PATH' >> "$log"
ok $? "no file in the packages has an RPATH" "$log"
[ "$(PKG_CONFIG_LIBDIR=$(echo "$root"/usr/lib/*/pkgconfig) pkg-config --variable=oshrun fulmar)" = /usr/bin/oshrun.fulmar ] &&
    grep -q '/oshcc.fulmar")' "$root"/usr/lib/*/cmake/Fulmar/FulmarConfig.cmake
ok $? "pkg-config and CMake name Fulmar's own oshrun and oshcc"

# Beside Open MPI, whose package owns oshrun, oshcc and oshc++: installed before and after it, and removed. In an overlay of
# the system, with Debian's packages of Open MPI where they are installed and apt can download them, else with a stand-in.
openmpi="openmpi-bin openmpi-common libopenmpi-dev openmpi-doc"
mkdir "$work/openmpi"
if dpkg -s openmpi-bin libopenmpi-dev > /dev/null 2>&1 &&
    (cd "$work/openmpi" && chmod 777 . && timeout 120 apt-get -qq download $openmpi) > "$log" 2>&1; then
    what="Debian's Open MPI $(dpkg-query -W -f '${Version}' openmpi-bin)"
else
    what="a stand-in for Open MPI" openmpi=openmpi-bin
    for name in oshrun oshcc oshc++; do
        mkdir -p "$work/other/DEBIAN" "$work/other/usr/bin" "$work/other/usr/share/man/man1"
        printf '#!/bin/sh\necho Open MPI\n' > "$work/other/usr/bin/$name"
        echo other | gzip -n > "$work/other/usr/share/man/man1/$name.1.gz"
    done
    chmod +x "$work/other/usr/bin/"*
    printf 'Package: openmpi-bin\nVersion: 99\nArchitecture: all\nMaintainer: t <t@t>\nDescription: stand-in\n' > "$work/other/DEBIAN/control"
    dpkg-deb --build "$work/other" "$work/openmpi/openmpi-bin_99_all.deb" > "$log" 2>&1
fi
cat > "$work/beside.sh" << 'END'
set -ex
cd "$1"
mount -t tmpfs none overlay
mkdir overlay/upper overlay/work overlay/merged
mount -t overlay overlay -o lowerdir=/,upperdir=overlay/upper,workdir=overlay/work overlay/merged
mount -t proc proc overlay/merged/proc
mount --rbind /dev overlay/merged/dev
mkdir -p overlay/merged/packages
cp fulmar-bin_[0-9]*.deb libfulmar1_[0-9]*.deb libfulmar-dev_[0-9]*.deb libze-cpu_[0-9]*.deb overlay/merged/packages
cp -r openmpi fulmar/debian/tests fulmar/examples overlay/merged/packages
cat > overlay/merged/packages/run << 'RUN'
set -ex
cd /packages
export DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
is() { # command, option, "other" or "fulmar"
    if [ "$3" = other ]; then "$1" "$2" 2>&1 | grep -E '^([^ ]+ \(?)?Open'; else "$1" --help | grep -q "^usage: $1"; fi
}
all() {
    is oshrun --version "$1" && is oshcc --showme:version "$1" && is oshc++ --showme:version "$1"
}
files() {
    find /usr/bin /usr/lib /usr/include /usr/share /etc ! -type d ! -name ld.so.cache | sort
    dpkg-divert --list
    cat /var/lib/dpkg/alternatives/osh*
}
ours="fulmar-bin libfulmar1 libfulmar-dev libze-cpu"
install_ours() {
    dpkg --force-depends -i $(printf '%s_*.deb ' $ours)
}
install_others() {
    dpkg --force-depends -i openmpi/*.deb
}
dpkg --force-depends --purge $ours $1
files > before || :
install_others
all other
install_ours
all fulmar
update-alternatives --set oshrun /usr/bin/oshrun.openmpi
is oshrun --version other && is oshcc --showme:version fulmar
update-alternatives --set oshcc /usr/bin/oshcc.openmpi
all other
if [ -e /usr/share/openmpi/oshcc-wrapper-data.txt ]; then
    oshcc examples/hello.c -o hello.openmpi && ldd hello.openmpi | grep liboshmem
fi
update-alternatives --auto oshrun
update-alternatives --auto oshcc
install_others # again, as an upgrade of Open MPI
all fulmar
dpkg --force-depends --purge $ours
all other
[ ! -e /usr/bin/oshrun.openmpi ] && [ "$(dpkg -S /usr/bin/oshcc)" = "openmpi-bin: /usr/bin/oshcc" ]
dpkg --force-depends -P $1
install_ours
all fulmar
install_others
all fulmar
for name in oshcc oshc++; do # the file in which Open MPI's wrapper compiler looks up the name that it was called by
    [ "$(readlink /usr/share/openmpi/$name.openmpi-wrapper-data.txt)" = $name-wrapper-data.txt ]
done
[ "$(update-alternatives --list oshcc)" = "$(printf '/usr/bin/oshcc.%s\n' fulmar openmpi)" ]
dpkg --force-depends -P $1
all fulmar
[ "$(update-alternatives --list oshcc)" = /usr/bin/oshcc.fulmar ]
AUTOPKGTEST_TMP=/tmp sh tests/smoke
dpkg --force-depends --purge $ours
files > after || :
diff before after
RUN
chroot overlay/merged sh /packages/run "$2"
END
mkdir "$work/overlay"
if [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs none "$work/overlay" 2> "$log"; then
    unshare --mount --propagation private sh "$work/beside.sh" "$work" "$openmpi" > "$log" 2>&1
    ok $? "the packages install beside $what" "$log"
else
    skip "the packages install beside $what" "only root can mount"
fi
plan
