# completion.bash - completion of oshrun, oshcc, oshc++ and oshinfo in bash.
#
# The options and the kinds of their values come from the command's --help, so they are always up to date.

# Parse a help text from standard input: "list" prints every option, "value OPTION" the placeholder of its value.
_fulmar_help() {
    awk -v what="$1" -v option="$2" '
        /^ +-/ { sub(/^ +/, "")
                 sub(/  .*/, "")
                 found = value = ""
                 n = split($0, word, /,? /)
                 for (i = 1; i <= n; i++)
                     if (word[i] !~ /^-/) value = word[i]
                     else if (what == "list") { sub(/\[=.*/, "", word[i]); sub(/=.*/, "=", word[i]); print word[i] }
                     else if (word[i] == option) found = 1
                 if (found) print value }'
}

# Candidates for the value of a placeholder.
_fulmar_values() { # PLACEHOLDER, typed prefix
    case $1 in
    *'|'*) compgen -W "${1//|/ }" -- "$2" ;;
    *FILE* | TRACE) compgen -f -- "$2" ;;
    DIR*) compgen -d -- "$2" ;;
    HOST*) compgen -P "${2%"${2##*,}"}" -A hostname -- "${2##*,}" ;;
    VAR*) compgen -e -- "$2"; compgen -W "$(oshinfo 2> /dev/null | grep -o '^SHMEM_[A-Z_]*')" -- "$2" ;;
    esac
}

_fulmar() {
    local line=${COMP_LINE:0:COMP_POINT} current='' words=() help value='' at=option i
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] || { current=${words[-1]} && unset 'words[-1]'; }
    help=$("$1" --help 2> /dev/null)
    for ((i = 1; i < ${#words[@]}; i++)); do
        case $at,${words[i]} in
        value,*) at=option ;;
        option,--) at=program ;;
        option,-*=*) ;;
        option,-*) value=$(_fulmar_help value "${words[i]}" <<< "$help") && [[ $value ]] && at=value ;;
        argument,:) at=option ;;
        option,* | program,*) [[ ${1##*/} != oshrun ]] || at=argument ;;
        esac
    done
    case $at,$current in
    value,*) mapfile -t COMPREPLY < <(_fulmar_values "$value" "$current") ;;
    option,-*=*)
        value=$(_fulmar_help value "${current%%=*}" <<< "$help")
        mapfile -t COMPREPLY < <(_fulmar_values "$value" "${current#*=}")
        return ;;
    option,-*)
        mapfile -t COMPREPLY < <(compgen -W "$(_fulmar_help list <<< "$help")" -- "$current")
        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2> /dev/null ;;
    option,* | program,*) [[ ${1##*/} != oshrun ]] || mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
    esac
    # The shell splits the word at colons and replaces only the part after the last one.
    [[ $current != *:* || $COMP_WORDBREAKS != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
}

complete -o bashdefault -o default -F _fulmar oshrun oshcc oshc++ oshinfo
