#compdef oshrun oshcc oshc++ oshinfo
# completion.zsh - completion of oshrun, oshcc, oshc++ and oshinfo in zsh.
#
# The options and the kinds of their values come from the command's --help, as in bash.

_fulmar_variables() {
    local -a settings
    settings=(${(f)"$(oshinfo 2> /dev/null | grep -o '^SHMEM_[A-Z_]*')"})
    _alternative 'exported:exported variable:_parameters -g "*export*"' "settings:setting:($settings)"
}

_fulmar() {
    setopt localoptions extendedglob
    local line option value text action
    local -a specs options
    for line in ${(M)${(f)"$($words[1] --help 2> /dev/null)"}:# #-*}; do
        line=${line## #} text=${${line#*  }## #} options=() value=
        for option in ${${(s: :)line%%  *}%,}; do
            option=${option%%\[=*} # a value that may be left out
            case $option in
            -*=*) options+=${option%%=*}=- value=${option#*=} ;; # =-: the value is in the same word
            --?*) options+=$option= ;;                           # =: in the same word or the next
            -*) options+=$option ;;
            *) value=$option ;;
            esac
        done
        case $value in
        '') options=(${options%=}) action= ;;
        *'|'*) action="(${value//|/ })" ;;
        *FILE* | TRACE) action=_files ;;
        DIR) action=_directories ;;
        HOST*) action='_sequence _hosts' ;;
        VAR*) action=_fulmar_variables ;;
        *) action=' ' ;;
        esac
        for option in ${options//:/\\:}; do
            [[ $text = *'(repeatable)'* ]] && option='*'$option || option="(${options%%=*})"$option
            specs+="$option""[${text//]/\\]}]${value:+:${value//:/\\:}:$action}"
        done
    done
    if [[ $service = oshrun ]]; then
        local -i colon=${words[(I):]} # after it the options of another program follow
        if ((colon > 1 && colon < CURRENT)); then
            words=($words[1] "${(@)words[colon + 1,-1]}")
            ((CURRENT -= colon - 1))
        fi
        _arguments -S : $specs '(-)1:program:_command_names -e' '*::argument:_normal'
    else
        _arguments : $specs '*:file:_files'
    fi
}

_fulmar "$@"
