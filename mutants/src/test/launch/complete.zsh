# complete.zsh - completion of command lines in zsh, which completes only at a terminal: for each line of standard input, type
# it and a tab at a shell behind a pseudo-terminal, print the matches that the completion adds, and "end".
#
#   usage: zsh -f complete.zsh DIR      DIR has the completion functions, and gets files of this script
dir=$1
zmodload zsh/zpty zsh/zselect
zpty shell zsh -f -i
zpty -w shell "PROMPT= fpath=($dir \$fpath); autoload -U compinit; compinit -u -D
    compadd() {
        local -a matches
        [[ \" \$* \" = *\" -\"[OAD]\" \"* ]] || builtin compadd -A matches \"\$@\"
        print -rl -- \$matches >> $dir/matches
        builtin compadd \"\$@\"
    }
    ready() { : > $dir/ready }
    zle -N ready; bindkey ^I list-choices; bindkey ^X ready"
while IFS= read -r line; do
    : > $dir/matches
    zpty -n -w shell "$line"$'\t\x18'
    for ((i = 0; i < 2000; i++)); do
        zpty -r -t shell > /dev/null
        [[ ! -e $dir/ready ]] || break
        zselect -t 1
    done
    rm -f $dir/ready
    zpty -n -w shell $'\x15'
    grep -vx -e - -e "" $dir/matches # "-" is a command of zsh
    print end
done
