#!/usr/bin/env bash
# completion.sh - bash completion of command lines of oshrun, oshcc and oshinfo.
#
# Catches: an option of --help that is not offered, an offered one that does not exist, an option of the program or its
# arguments taken for one of oshrun's, values of the wrong kind.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/pkg/completion.bash"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
PATH=$(cd "$top_builddir" && pwd)/src/tools:$PATH
cd "$work" && mkdir subdirectory && touch file.c || exit 99

complete_line() { # LINE: print the candidates, one per line
    COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
    _fulmar "${1%% *}"
    [ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}
gives() { # LINE, the expected candidates, sorted
    complete_line "$1" | sort -u > got
    printf '%s' "${2:+$2
}" | tr ' ' '\n' | diff - got > "$log"
    ok $? "'$1' gives '$2'" "$log"
}
offers() { # LINE, one of the candidates
    complete_line "$1" > "$log"
    grep -qxF -- "$2" "$log"
    ok $? "'$1' offers '$2'" "$log"
}

for tool in oshrun oshcc oshc++ oshinfo; do
    # every word of the help text that begins with a dash in the place of an option
    "$tool" --help | sed -e '/^[^ u]/d' -e 's/^  *\(-.*\)/\1/' -e 's/   *[^ ].*//' | tr ' ,|[]' '\n' | grep -e '^-' | sort -u > want
    complete_line "$tool -" | sort -u | diff want - > "$log" && [ -s want ]
    ok $? "$tool: exactly the options of --help" "$log"
done
gives 'oshrun -n 2 --bind-to ' 'core none'
gives 'oshrun --bind-to c' core
gives 'oshrun --bind-to=n' none
gives 'oshrun --wdir ' subdirectory
gives 'oshrun --hostfile f' file.c
offers 'oshrun -x SHMEM_SYM' SHMEM_SYMMETRIC_SIZE
offers 'oshrun -x PA' PATH
offers 'oshrun -n 2 oshin' oshinfo
offers 'oshrun -- oshin' oshinfo
offers 'oshrun -n 2 true : --lab' --label
offers 'oshrun --host h:2 --lab' --label
gives 'oshrun -n 2 true --lab' ''
gives 'oshrun -n ' ''
gives 'oshcc --showme:c' compile
offers 'oshcc file.c --static' --static-shmem
plan
