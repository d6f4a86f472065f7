# tap.sh - results of shell tests as TAP; sourced. The caller ends with `plan`.
tests=0
: "${OSHRUN:=oshrun}" "${top_builddir:=.}" "${top_srcdir:=.}"

# ok STATUS DESCRIPTION [FILE]: one test; when it failed, the end of FILE is shown.
ok() {
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        echo "not ok $tests - $2"
        [ -z "$3" ] || tail -n 30 "$3" | sed 's/^/# /'
    fi
}

skip() { # DESCRIPTION REASON
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

plan() {
    echo "1..$tests"
}

# until_grep PATTERN FILE [PID]: wait until a line of FILE matches, up to 40 s; PID gets SIGUSR1 before each look.
until_grep() {
    for _ in $(seq 200); do
        [ -z "$3" ] || kill -USR1 "$3"
        sleep 0.2
        ! grep -Eq "$1" "$2" || return 0
    done
    return 1
}

# skip_all REASON: the whole script says why it does not run, and ends.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# need_hosts "$0": go on inside two fake hosts (see lib/hosts.sh, which is $hosts; its folder for files is $FAKE_HOSTS).
hosts=$top_srcdir/test/lib/hosts.sh
need_hosts() {
    [ -z "$FAKE_HOSTS" ] || return 0
    why=$("$hosts" can) || skip_all "$why"
    exec "$hosts" run "$1"
}
