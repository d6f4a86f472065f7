#!/bin/sh
# secret.sh - the job's secret is in no command line, environment, output, statistics, trace or log of a job with all
# kinds of output. Catches: a secret in a variable or argument, visible to other users or in logs; a debug line with its
# bytes.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/out"

# A PE runs for a while, then gets the secret by PMIx; not before, because libpmix 4.2 miscounts fences while PEs leave
# and join.
cat >"$dir/pe" <<EOF
cp /proc/\$\$/environ "$dir/out/environ.\$PMIX_RANK"
"$top_builddir/test/multi/soak" seconds=6 || exit 1
exec "$top_builddir/test/security/join" client $(id -u):$(id -g) >"$dir/secret.\$PMIX_RANK"
EOF
mark=secret.$$
MARK=$mark SHMEM_TRANSPORT=ofi SHMEM_DEBUG=1 SHMEM_INFO=1 SHMEM_VERSION=1 SHMEM_STATS=$dir/out/stats_%p SHMEM_TRACE=$dir/out/trace \
    FI_LOG_LEVEL=debug PMIX_OUTPUT_STDERR_FD=2 PMIX_MCA_ptl_base_verbose=10 PMIX_MCA_psec_base_verbose=10 \
    timeout -k 5 60 $OSHRUN -n 2 sh "$dir/pe" >"$dir/out/stdout" 2>"$dir/out/stderr" &
job=$!
until_grep '^fulmar: PE 0: 2 of 2 on this node' "$dir/out/stderr" && until_grep '^fulmar: PE 1: 2 of 2 on this node' "$dir/out/stderr"
processes=0
for p in /proc/[0-9]*; do
    grep -aqs "MARK=$mark" "$p/environ" || continue
    processes=$((processes + 1))
    ! grep -q soak "$p/comm" || kill -USR1 "${p#/proc/}" # a report of its waits
    for file in cmdline environ comm; do cat "$p/$file" >"$dir/out/$file${p#/proc/}"; done
done
wait $job
status=$?
[ $status -eq 0 ] && [ $processes -ge 4 ] && grep -Eq '^secret: [0-9a-f]{32}$' "$dir/secret.0" && cmp -s "$dir/secret.0" "$dir/secret.1"
ok $? "all PEs of a job have one secret" "$dir/out/stderr"

# The secret as bytes, hexadecimal numbers, base64 and octal escapes.
python3 - "$dir" >"$dir/found" 2>&1 <<'EOF'
import base64, os, sys
top = sys.argv[1]
secret = bytes.fromhex(open(f"{top}/secret.0").read().split()[1])
forms = [secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret)[:20],
         secret.hex(" ").encode(), "".join("\\%03o" % b for b in secret).encode()]
names = [f"{top}/out/{n}" for n in os.listdir(f"{top}/out")]
bad = [n for n in names if any(f in open(n, "rb").read() for f in forms)]
print(len(names), "files")
print("secret in", *bad) if bad else None
assert len(names) >= 15 and {"trace", "stats_0", "stats_1"} <= {os.path.basename(n) for n in names} and os.path.getsize(f"{top}/out/stderr") > 10000
sys.exit(len(bad))
EOF
ok $? "the secret is in no output, log, statistics, trace, command line or environment" "$dir/found"
plan
