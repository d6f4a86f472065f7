#!/usr/bin/env bash
# fortran.sh - contrib/fortran: its build.sh, and each of its routines in a Fortran program with 2, 3 and 5 PEs on a node and 3 over libfabric.
#
# Catches: a routine with other arguments or results than OpenSHMEM 1.4 has in Fortran; a pSync or a lock that takes the word behind it; a
# routine that the program does not call.
. "${top_srcdir:=.}/test/tap.sh"
command -v gfortran > /dev/null || skip_all "gfortran is not installed"
! grep -q __asan_init "$top_builddir/.libs/libfulmar.so" || skip_all "a library with AddressSanitizer needs programs that gcc or clang links with it"
! grep -q __tsan_init "$top_builddir/.libs/libfulmar.so" || skip_all "a library with ThreadSanitizer needs programs that gcc or clang links with it"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export PATH=$(cd "$top_builddir/src/tools" && pwd):$PATH FC=gfortran
"$top_srcdir/contrib/fortran/build.sh" "$work/to" > "$work/log" 2>&1
ok $? "contrib/fortran is built" "$work/log"
"$work/to/bin/oshfort" -O2 -w -cpp -fcray-pointer -ffree-line-length-none -fallow-argument-mismatch "$top_srcdir/test/fortran.F90" -o "$work/fortran" > "$work/log" 2>&1
ok $? "oshfort compiles and links a program" "$work/log"
for way in auto:2 auto:3 auto:5 ofi:3; do
    SHMEM_TRANSPORT=${way%:*} timeout 100 $OSHRUN -n "${way#*:}" "$work/fortran" > "$work/log" 2>&1 && grep -q ' 0 wrong' "$work/log"
    ok $? "each routine, $way" "$work/log"
done
nm --defined-only "$work/to/lib/shmem_fortran.o" | sed -n 's/.* T \(.*\)_$/\1/p' > "$work/names"
missing=$(while read -r name; do grep -iqw "$name" "$top_srcdir/test/fortran.F90" || echo "$name"; done < "$work/names" | grep -vx shmem_init)
[ -s "$work/names" ] && [ -z "$missing" ]
ok $? "the program calls each of the $(wc -l < "$work/names") routines${missing:+, but not: $missing}"
plan
