#!/usr/bin/env bash
# debian.sh - the Debian packages: build them from a distribution, check them with lintian, unpack and use them. It
# builds the whole library, so ./check runs it and make check does not.
#
# Catches: a file missing from the packages or the distribution; a path in the packages that exists only on the build
# machine.
if ! command -v dpkg-buildpackage > /dev/null || ! command -v dh > /dev/null; then
    echo "1..0 # SKIP dpkg-dev and debhelper build Debian packages; they are not installed"
    exit 0
fi
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log

make -C "$top_builddir" distdir distdir="$work/fulmar" > "$log" 2>&1 && cd "$work/fulmar" && chmod -R u+w . &&
    DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc -b -d >> "$log" 2>&1
ok $? "dpkg-buildpackage" "$log"
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
"$root/usr/bin/oshcc" examples/hello.c -o hello > "$log" 2>&1 && "$root/usr/bin/oshrun" -n 2 ./hello > out 2>> "$log" &&
    [ "$(sort out)" = "$(printf 'Hello from PE %d of 2\n' 0 1)" ]
ok $? "a program builds and runs with the packages" "$log"
if (. src/tools/llvm.sh && find_llvm); then
    "$root/usr/bin/oshcc" examples/pass.c examples/pass.cl -o pass > "$log" 2>&1 &&
        "$root/usr/bin/oshrun" -n 2 ./pass > out 2>> "$log" && [ "$(sort out)" = "$(printf 'PE %d of 2: %d\n' 0 10 1 0)" ]
    ok $? "a program with a kernel builds and runs with the packages" "$log"
else
    skip "a program with a kernel" "LLVM with llvm-spirv is not installed"
fi
! find "$root/usr/lib" "$root/usr/bin" -type f -exec readelf -d {} + 2> "$log" | grep -E 'R(UN)?PATH' >> "$log"
ok $? "no file in the packages has an RPATH" "$log"
plan
