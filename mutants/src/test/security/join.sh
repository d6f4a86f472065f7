#!/bin/sh
# join.sh - oshrun's PMIx server and processes outside of the job: a wrong job name, tools, other users with the right
# name and a false user id. The server refuses all of them, and the job ends normally.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
join=$work/join
cp "$top_builddir/test/security/join" "$join" || exit 99
mkdir "$work/tmp"
owner=61001 other=61002
two_users='' # the reason why this test cannot run as two users
[ "$(id -u)" = 0 ] || two_users='this is not root'
command -v setpriv >"$work/where" || two_users='setpriv (util-linux) is missing'

as() { # UID COMMAND...: run as this user, if possible
    uid=$1
    shift
    if [ "$two_users" ]; then "$@"; else setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"; fi
}

[ "$two_users" ] || as $owner test -x "$OSHRUN" || two_users="other users cannot read $top_builddir"

# A PE writes its PMIx variables, waits for $work/go and joins the job.
cat >"$work/pe" <<EOF
env | grep '^PMIX_[^ ]*\$' >$work/job/env.\$PMIX_RANK
mv $work/job/env.\$PMIX_RANK $work/job/pe.\$PMIX_RANK
until [ -e $work/job/go ]; do sleep 0.05; done
exec $work/client fence
EOF
cp "$CLIENT" "$work/client"

start() { # a job of two PEs of the owner
    rm -rf "$work/job" "$work/tmp"
    mkdir "$work/job" "$work/tmp"
    chmod 777 "$work/job" "$work/tmp"
    (cd "$work" && TMPDIR=$work/tmp as $owner timeout -k 5 60 $OSHRUN -n 2 sh "$work/pe" >"$work/out" 2>&1) &
    job=$!
    for _ in $(seq 200); do
        [ ! -e "$work/job/pe.0" ] || [ ! -e "$work/job/pe.1" ] || return 0
        sleep 0.1
    done
    return 1
}

finish() { # 0: the job ends well
    touch "$work/job/go"
    wait $job
}

# try UID MODE CLAIM [VARIABLE=VALUE]: run join for $limit seconds as this user in the environment of PE 1, with this change.
limit=30
try() {
    as "$1" timeout -k 5 "$limit" env $(cat "$work/job/pe.1") $4 "$join" "$2" "$3" >"$work/tried" 2>&1
}

[ "$two_users" ] && me=$(id -u):$(id -g) || me=$owner:$owner

# Catches: an attempt that is refused because it is itself defective.
start
try $owner client "$me" && grep -Eq '^secret: [0-9a-f]{32}$' "$work/tried"
ok $? 'control: a process of the same user joins and reads the secret' "$work/tried"
finish
ok $? 'the job ends well' "$work/out"

# Catches: a name that is built from data visible to other users; a server that accepts any name.
start
name=$(sed -n 's/^PMIX_NAMESPACE=//p' "$work/job/pe.0")
echo "$name" | grep -Eq '^oshrun-[0-9a-f]{32}$' && ! echo "$name" | grep -Eq "$(hostname)|-$job\$"
ok $? 'the name of a job has 128 random bits'
try $owner client "$me" PMIX_NAMESPACE="oshrun-$(hostname)-$job"
[ $? -eq 3 ] && ! grep -q secret: "$work/tried"
ok $? 'a wrong name is refused' "$work/tried"
limit=2
try $owner tool "$me"
[ $? -eq 124 ]
ok $? 'a tool gets no answer' "$work/tried"
try $owner tool "$me" PMIX_NAMESPACE=tool
[ $? -eq 124 ]
ok $? 'a tool with its own name gets no answer' "$work/tried"
limit=30
port=$(sed -n 's/^PMIX_SERVER_URI4=.*://p' "$work/job/pe.0")
grep -Eq "^ *[0-9]+: 0100007F:$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp &&
    [ "$(grep -c ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp)" -eq 1 ]
ok $? 'the server listens on the loopback address' /proc/net/tcp
[ -z "$(find "$work/tmp" -mindepth 1)" ]
ok $? 'a running job has no files'
finish
ok $? 'the job ends well' "$work/out"
try $owner client "$me"
[ $? -eq 3 ]
ok $? 'the server ends with its job'

if [ "$two_users" ]; then
    skip 'other users' "$two_users"
    plan
    exit 0
fi

# Catches: a user id that a client sends and libpmix trusts.
start
try $other client "$me"
[ $? -eq 3 ] && ! grep -q secret: "$work/tried"
ok $? 'another user with the right name and a false user id is refused' "$work/tried"
try $other abort "$me"
[ $? -eq 3 ]
ok $? 'another user with a false user id cannot end the job' "$work/tried"
try $other tool "$me"
[ $? -eq 3 ]
ok $? 'a tool of another user is refused' "$work/tried"
finish
ok $? 'the job ends well' "$work/out"
[ "$(grep -c 'refused a connection' "$work/out")" -eq 1 ] && grep -q "user $other" "$work/out"
ok $? 'one line names the user' "$work/out"

# Catches: connections without a first message, which libpmix awaits without a limit, or which exhaust oshrun's
# descriptors.
start
(try $other silent "$me") &
silent=$!
until_grep 'connections$' "$work/tried"
finish
ok $? 'a job starts and ends well while another user holds connections' "$work/out"
kill $(pgrep -P $silent) 2>"$work/where"
wait $silent

plan
