#!/bin/sh
# oshinfo.sh - the output of oshinfo: valid JSON, the committed manual page, every variable of config.def.
info=$top_builddir/src/tools/oshinfo
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
# Catches: a misplaced quote or comma.
"$info" --json | python3 -c 'import json, sys; json.load(sys.stdin)'
ok $? "--json is JSON"
# Catches: a section that is empty, or missing from the JSON.
SHMEM_DEBUG='a"\b' "$info" --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["features"]["shared memory"] is True and d["node"]["threads"] >= d["node"]["cores"] >= 1 and d["node"]["numa"], d
assert {"SHMEM_STATS", "SHMEM_TRACE"} <= {v["name"] for v in d["environment"] if v["help"]}, d
assert [v["set"] for v in d["environment"] if v["name"] == "SHMEM_DEBUG"] == ["a\"\\b"], d
' && "$info" | grep -q '^processor .* core' && "$info" | grep -q '^features '
ok $? "features, node and environment, as JSON and as text"
# Catches: a variable that was added or changed without its manual page.
"$info" --man | cmp -s - "$top_srcdir/man/shmem_environment.7"
ok $? "man/shmem_environment.7 is what oshinfo --man prints"
# Catches: a variable that one of the outputs leaves out, or one of the tests' own in what users read.
wrong=
for v in $(sed -n 's/^X([a-z_]*, [a-z]*, "\([A-Z_]*\)".*/\1/p' "$top_srcdir/src/host/util/config.def"); do
    case $v in
    SHMEM_TEST_*) { "$info"; "$info" --json; "$info" --man; } | grep -q "$v" && wrong="$wrong $v" ;;
    *) "$info" | grep -q "^$v " && "$info" --json | grep -q "\"$v\"" || wrong="$wrong $v" ;;
    esac
done
[ -z "$wrong" ]
ok $? "every variable is printed, those of the tests are not$wrong"
# Catches: one more variable that nobody knows a value for.
sed -n 's/^X([a-z_]*, [a-z]*, "\([A-Z_]*\)".*/\1/p' "$top_srcdir/src/host/util/config.def" | grep -v '^SHMEM_TEST_' | sort >"$dir/shown"
sed -n '/^| variable | who sets it |/,/^$/p' "$top_srcdir/doc/tuning.md" | cut -d'|' -f2 | grep -oE 'SHMEM_[A-Z_]+' | sort >"$dir/explained"
cmp "$dir/shown" "$dir/explained" && [ "$(wc -l <"$dir/shown")" -le 23 ]
ok $? "doc/tuning.md says of each of $(wc -l <"$dir/shown") variables who sets it, and there are at most 23"
# Catches: an invalid value that is silently ignored.
SHMEM_SYMMETRIC_SIZE=junk "$info" > /dev/null 2>&1
[ $? = 1 ]
ok $? "an invalid value is refused"
"$info" --nonsense 2>&1 > /dev/null | grep -q "unknown option '--nonsense'" && "$info" --json more 2>&1 > /dev/null | grep -q "'more'"
ok $? "an unknown option is refused, and named"
"$info" --json more > /dev/null 2>&1
[ $? = 2 ]
ok $? "with status 2"
# Catches: a test or document that sets a variable that nothing reads. report.sh invents the one that is left out.
(cd "$top_srcdir" && grep -rhoE '\bSHMEM_[A-Z_0-9]+=' test bench doc examples man src) | tr -d = | grep -vx SHMEM_API_TOKEN | sort -u > "$dir/set"
(cd "$top_srcdir" && grep -rhoE '"SHMEM_[A-Z_0-9]+"' src test bench) | tr -d '"' | sort -u > "$dir/read"
comm -23 "$dir/set" "$dir/read" > "$dir/unknown"
[ -s "$dir/set" ] && [ ! -s "$dir/unknown" ]
ok $? "each variable that a script or document sets is read somewhere" "$dir/unknown"
plan
