# completion.fish - completion of oshrun, oshcc, oshc++ and oshinfo in fish, which loads it under the command's name.
#
# The options and the kinds of their values come from the command's --help, as in bash.

# Print oshrun's program and its arguments; fail where options of oshrun may still follow.
function __fulmar_program
    set -l words (commandline -opc)[2..]
    set -l at option
    set -l program
    for word in $words
        switch $at:$word
            case 'value:*'
                set at option
            case option:--
                set at program
            case 'option:-*'
                contains -- $word $__fulmar_with_value; and set at value
            case argument::
                set at option
                set program
            case '*'
                set at argument
                set -a program (string escape -- $word)
        end
    end
    test $at = argument; and echo $program
end

function __fulmar_variables
    set -nx
    oshinfo 2>/dev/null | string match -r '^SHMEM_[A-Z_]*'
end

set -l tool (string replace .fish '' (status basename))
set -l condition true
if test $tool = oshrun
    set -g __fulmar_with_value
    set condition 'not __fulmar_program >/dev/null'
    complete -c oshrun -f
    complete -c oshrun -n $condition -a '(__fish_complete_command)'
    complete -c oshrun -n __fulmar_program -a '(complete -C (__fulmar_program)" "(commandline -ct))'
end
for line in ($tool --help 2>/dev/null | string match -r '^ +-.*')
    set -l parts (string split -m 1 '  ' -- (string trim -l -- $line))
    set -l names
    set -l words
    set -l value
    for word in (string split ' ' -- (string replace -a ', ' ' ' -- $parts[1]))
        set word (string replace -r '\[=.*' '' -- $word) # a value that may be left out
        switch $word
            case '--*=*'
                string match -rq -- '--(?<name>[^=]*)=(?<value>.*)' $word
                set -a names -l $name
            case --
                set -a names -o -
            case '--*'
                set -a names -l (string sub -s 3 -- $word)
            case '-*'
                set -l kind -o
                test (string length -- $word) = 2; and set kind -s
                set -a names $kind (string sub -s 2 -- $word)
            case '*'
                set value $word
                continue
        end
        set -a words $word
    end
    set -l action
    switch "$value"
        case ''
        case '*|*'
            set action -x -a (string replace -a '|' ' ' -- $value)
        case '*FILE*' TRACE
            set action -r -F
        case DIR
            set action -x -a '(__fish_complete_directories)'
        case 'HOST*'
            set action -x -a '(__fish_print_hostnames)'
        case 'VAR*'
            set action -x -a '(__fulmar_variables)'
        case '*'
            set action -x
    end
    test -n "$value" -a $tool = oshrun; and set -a __fulmar_with_value $words
    set -l text (string trim -- "$parts[2]")
    complete -c $tool -n $condition $names $action -d "$text"
end
