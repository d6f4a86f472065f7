# tap.sh - results of shell tests as TAP; sourced. The caller ends with `plan`.
tests=0
: "${OSHRUN:=oshrun}" "${top_builddir:=.}" "${top_srcdir:=.}"

# ok STATUS DESCRIPTION [FILE]: report one test; if it failed, print the end of FILE.
ok() {
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        echo "not ok $tests - $2"
        [ -z "$3" ] || tail -n 30 "$3" | awk '{ print "# " $0 }' # unlike sed, ends the last line
    fi
}

may_trace() { # may this user hold a process that is not its child? If not, no_trace says why.
    no_trace="qemu-user has no ptrace"
    [ -z "${QEMU_LD_PREFIX:-}" ] || return 1
    no_trace="only root may hold another process (kernel.yama.ptrace_scope)"
    [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]
}

skip() { # DESCRIPTION REASON
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

plan() {
    echo "1..$tests"
}

# until_grep PATTERN FILE [PID]: wait up to 40 s until a line of FILE matches; send SIGUSR1 to PID before each check.
until_grep() {
    for _ in $(seq 200); do
        [ -z "$3" ] || kill -USR1 "$3"
        sleep 0.2
        ! grep -Eq "$1" "$2" || return 0
    done
    return 1
}

# skip_all REASON: skip all tests of the script and exit.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# need_hosts "$0": run the script again inside two fake hosts ($hosts is lib/hosts.sh, $FAKE_HOSTS its folder for
# files).
hosts=$top_srcdir/test/lib/hosts.sh
need_hosts() {
    [ -z "$FAKE_HOSTS" ] || return 0
    why=$("$hosts" can) || skip_all "$why"
    exec "$hosts" run "$1"
}
