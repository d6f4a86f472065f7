# tap.sh - results of shell tests as TAP; sourced. The caller ends with `plan`.
tests=0
: "${OSHRUN:=oshrun}" "${top_builddir:=.}" "${top_srcdir:=.}"

# ok STATUS DESCRIPTION [FILE]: one test; when it failed, FILE is shown.
ok() {
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        echo "not ok $tests - $2"
        [ -z "$3" ] || sed 's/^/# /' "$3"
    fi
}

plan() {
    echo "1..$tests"
}
