#!/usr/bin/env bash
# recipes.sh - the recipes in pkg/ and the CI files, as far as they can be checked without a network and without root.
#
# Catches: a file that make install adds and the RPM packages lack; a version in a recipe that differs from configure.ac's; a
# recipe that does not parse.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
spec=$top_srcdir/pkg/fulmar.spec
package=$top_srcdir/pkg/spack/spack_repo/fulmar/packages/fulmar/package.py

# Each installed file has one line of %files, and each line has a file.
make -C "$top_builddir" install DESTDIR="$work/stage" prefix=/usr libdir=/usr/lib64 > "$log" 2>&1
ok $? "make install with the RPM's directories" "$log"
(cd "$work/stage" && find usr ! -type d ! -name '*.l*a' ! -name '*.a' ! -path '*/modulefiles/*') | sed 's|^|/|' > "$work/files"
sed -n '/^%files/,/^%changelog/s/^%{_\([a-z]*\)}/\1 /p' "$spec" | while read -r kind rest; do
    case $kind in
    bindir) echo "/usr/bin$rest" ;;
    docdir) echo "/usr/share/doc$rest" ;;
    datadir) echo "/usr/share$rest" ;;
    includedir) echo "/usr/include$rest" ;;
    libdir) echo "/usr/lib64$rest" ;;
    mandir) echo "/usr/share/man$rest" ;;
    *) echo "unknown %{_$kind}" ;;
    esac
done > "$work/patterns"
while read -r file; do
    n=0
    while read -r pattern; do
        # shellcheck disable=SC2053
        [[ $file != $pattern && $file != $pattern/* ]] || n=$((n + 1))
    done < "$work/patterns"
    [ $n = 1 ] || echo "$file is in $n lines"
done < "$work/files" > "$work/out"
while read -r pattern; do
    # shellcheck disable=SC2086
    [ -e "$(echo "$work/stage"${pattern%\*}* | cut -d' ' -f1)" ] || echo "$pattern has no file"
done < "$work/patterns" >> "$work/out"
[ -s "$work/files" ] && [ -s "$work/patterns" ] && [ ! -s "$work/out" ]
ok $? "the RPM packages have the $(wc -l < "$work/files") files of make install" "$work/out"

[ "$(sed -n 's/^Version: *//p' "$spec")" = "$(sed -n 's/^AC_INIT(\[fulmar\], \[\(.*\)\])/\1/p' "$top_srcdir/configure.ac")" ]
ok $? "the RPM packages have configure.ac's version"
sed -n 's/^PKG_CHECK_MODULES(\[[A-Z]*\], \[\([a-z]*\) >= \([0-9.]*\)\].*/\1 \2/p' "$top_srcdir/configure.ac" > "$work/needs"
while read -r name version; do
    grep -qx "BuildRequires:  pkgconfig($name) >= $version" "$spec" || echo "fulmar.spec: $name $version"
    grep -qx "    depends_on(\"$name@$version:\")" "$package" || echo "package.py: $name $version"
    tr '\n' ' ' < "$top_srcdir/doc/install.md" | grep -q "$name ($version or later)" || echo "doc/install.md: $name $version"
done < "$work/needs" > "$work/out"
[ -s "$work/needs" ] && [ ! -s "$work/out" ]
ok $? "recipes and doc/install.md name configure.ac's versions of $(cut -d' ' -f1 "$work/needs" | paste -sd ' ')" "$work/out"

sed -n 's/^RUN //p' "$top_srcdir/pkg/Dockerfile" > "$work/docker"
sed -n '/^%post/,/^$/s/^    //p' "$top_srcdir/pkg/fulmar.def" | grep -v '^cd ' | diff "$work/docker" - > "$log" && [ -s "$work/docker" ]
ok $? "Docker's and Apptainer's images are built by the same commands" "$log"

python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$package" > "$log" 2>&1
ok $? "Spack's package.py parses" "$log"
# Catches: an installed wrapper that calls Spack's, which works only inside a build of Spack's.
wrappers=$(sed -n 's/^WRAPPERS = //p' "$top_srcdir/Makefile.am" | sed 's/[^ ]*/"&"/g; s/ /, /g')
[ "$wrappers" ] && grep -qF "    filter_compiler_wrappers($wrappers, relative_root=\"bin\")" "$package"
ok $? "Spack's package has the compiler itself in all wrappers"
if python3 -c 'import yaml' 2> "$log"; then
    for file in .github/workflows/check.yml .gitlab-ci.yml; do
        python3 -c '
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
job = job.get("jobs", job)["check"]
assert "./check" in [job.get("script")] + [step.get("run") for step in job.get("steps", [])]' "$top_srcdir/$file" > "$log" 2>&1
        ok $? "$file runs ./check" "$log"
    done
else
    skip "the CI files run ./check" "python3-yaml is not installed"
fi
if command -v rpmspec > /dev/null; then
    rpmspec -P "$spec" > "$log" 2>&1
    ok $? "rpmspec parses fulmar.spec" "$log"
else
    skip "rpmspec parses fulmar.spec" "it is not installed"
fi
if command -v rpmlint > /dev/null; then
    rpmlint "$spec" > "$log" 2>&1
    ok $? "rpmlint finds no error in fulmar.spec" "$log"
else
    skip "rpmlint" "it is not installed"
fi
plan
