#!/usr/bin/env bash
# completion.sh - completion of command lines of oshrun, oshcc and oshinfo in bash, fish and zsh.
#
# Catches: an option of --help that is not offered, an offered one that does not exist, an option of the program or its
# arguments taken for one of oshrun's, values of the wrong kind.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/pkg/completion.bash"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
PATH=$(cd "$top_builddir" && pwd)/src/tools:$PATH
HOME=$work
mkdir "$work/fish" "$work/zsh" "$work/other"
printf '#!/bin/sh\necho "  -x"\n' > "$work/other/oshcc"
chmod +x "$work/other/oshcc"
for tool in oshrun oshcc oshc++ oshinfo; do
    ln -s "$top_srcdir/pkg/completion.fish" "$work/fish/$tool.fish"
done
ln -s "$top_srcdir/pkg/completion.zsh" "$work/zsh/_oshrun"
mkdir "$work/files" && cd "$work/files" && mkdir subdirectory && touch file.c || exit 99

# Complete a command line in $shell: print the candidates, one per line, without the option before an equals sign.
complete_line() { # LINE
    case $shell in
    bash)
        COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
        _fulmar "${1%% *}"
        [ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
        ;;
    fish)
        fish --no-config -c 'set fish_complete_path $argv[1]; complete -C $argv[2]' "$work/fish" "$1" |
            sed -e 's/\t.*//' -e 's|/$||' -e 's/^--.*=//'
        ;;
    zsh)
        echo "$1" >&"$to_zsh"
        while read -r candidate <&"$from_zsh" && [ "$candidate" != end ]; do printf '%s\n' "$candidate"; done
        ;;
    esac
}

gives() { # LINE, the expected candidates, sorted
    complete_line "$1" | sort -u > got
    printf '%s' "${2:+$2
}" | tr ' ' '\n' | diff - got > "$log"
    ok $? "$shell: '$1' gives '$2'" "$log"
}
offers() { # LINE, one of the candidates
    complete_line "$1" > "$log"
    grep -qxF -- "$2" "$log"
    ok $? "$shell: '$1' offers '$2'" "$log"
}

for shell in bash fish zsh; do
    if ! command -v $shell > /dev/null; then
        skip "completion in $shell" "it is not installed"
        continue
    fi
    if [ $shell = zsh ]; then
        coproc zsh -f "$top_srcdir/test/launch/complete.zsh" "$work/zsh" 2> "$work/zsh.log"
        exec {to_zsh}>&"${COPROC[1]}" {from_zsh}<&"${COPROC[0]}" # a coprocess's own descriptors are closed in subshells
    fi
    for tool in oshrun oshcc oshc++ oshinfo; do
        # every word of the help text that begins with a dash in the place of an option
        "$tool" --help | sed -e '/^[^ ]/d' -e 's/^  *\(-.*\)/\1/' -e 's/   *[^ ].*//' | tr ' ,|[]' '\n' | grep -e '^-' |
            sed 's/=.*//' | sort -u > want
        complete_line "$tool -" | sed 's/=$//' | sort -u | diff want - > "$log" && [ -s want ]
        ok $? "$shell: $tool: exactly the options of --help" "$log"
    done
    # Catches: an option without a text, as another OpenSHMEM's oshcc prints the compiler's, for which the shell prints errors.
    if [ $shell != zsh ]; then # its process has a PATH of its own
        (PATH=$work/other:$PATH && complete_line 'oshcc -') > "$log" 2>&1
        [ "$(cat "$log")" = -x ]
        ok $? "$shell: an option without a text" "$log"
    fi
    gives 'oshrun -n 2 --bind-to ' 'core hwthread none numa socket'
    gives 'oshrun --bind-to c' core
    gives 'oshrun --bind-to=no' none
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
    offers 'oshcc file.c --static' --static-shmem
done
shell=bash
gives 'oshcc --showme:c' compile
plan
