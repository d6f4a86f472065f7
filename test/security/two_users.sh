# two_users.sh - functions to start jobs of one user and attacks of another; sourced by the tests of this folder, after
# tap.sh. The jobs run victim.c, the attacks are in intruder.c. The output of a job or attack NAME is in $work/NAME.
[ "$(id -u)" = 0 ] || skip_all "the test needs root to run as two users"
command -v setpriv > /dev/null || skip_all "setpriv (util-linux) is missing"
# Separate users for each run, because the attacks find all jobs of a user; without an account, so that they have no others.
owner=$((40000 + $$ * 3 % 20000))
while getent passwd $owner $((owner + 1)) $((owner + 2)) | grep -q .; do
    owner=$((owner + 3))
done
other=$((owner + 1))
attacker=$((owner + 2))
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
for uid in $owner $other $attacker; do
    mkdir -m 700 "$work/$uid" && chown $uid:$uid "$work/$uid" || exit 99
done

as() { # UID COMMAND...
    uid=$1
    shift
    setpriv --reuid="$uid" --regid="$uid" --clear-groups env HOME="$work/$uid" TMPDIR="$work/$uid" "$@"
}

as $owner test -x "$top_builddir/test/security/victim" || skip_all "other users cannot read $top_builddir"

# start NAME UID PEs: start a job; return when it is under way.
start() {
    : > "$work/$1" # the job's own shell opens the file later: an earlier job's lines must not be read as this one's
    as "$2" SHMEM_TRANSPORT=ofi timeout -k 5 60 $OSHRUN -n "$3" "$top_builddir/test/security/victim" "$work/$1.stop" \
        > "$work/$1" 2>&1 &
    eval "pid_$1=\$!"
    for _ in $(seq 300); do
        ! grep -q '^under way' "$work/$1" || return 0
        sleep 0.1
    done
    return 1
}

# finish NAME: end the job. 0: it had not ended before, and all its results are correct.
finish() {
    touch "$work/$1.stop"
    eval "wait \$pid_$1" && grep -q '^[0-9]* rounds' "$work/$1" && ! grep -q '^wrong' "$work/$1"
}

# attack NAME BY UID MORE...: user BY attacks the jobs of user UID. 0: the attacks were made.
attack() {
    name=$1
    shift
    by=$1
    target=$2
    shift 2
    timeout -k 5 60 "$top_builddir/test/security/intruder" "$name" "$target" "$by" "$@" > "$work/$name" 2>&1 &&
        grep -q ': [1-9][0-9]* tried' "$work/$name"
}

# dropped JOB: print the number of messages that its PEs have dropped.
dropped() {
    sed -n 's/.*network: dropped \([0-9]*\) messages in all.*/\1/p' "$work/$1" | awk '{ n += $1 } END { print n + 0 }'
}

# sent ATTACK: print the number of messages that it has sent.
sent() {
    sed -n 's/.* \([0-9]*\) sent,.*/\1/p' "$work/$1"
}
