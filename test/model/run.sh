#!/bin/sh
# run.sh - spin searches all states of each model, and must find each mutant that the model's comment lists, by the
# property named there. Catches: a protocol that fails in an order that no test produces, and a model that detects
# nothing.
#
# run.sh MODEL MUTANT prints the steps by which that mutant fails (MUTANT 0: the protocol itself); it runs no test.
. "${top_srcdir:=.}/test/tap.sh"
models=$(cd "$top_srcdir/test/model" && pwd) || exit 99
cc=${CC:-cc}
for tool in spin "${cc%% *}"; do
    command -v "$tool" >/dev/null || {
        echo "1..0 # SKIP $tool is not installed"
        exit 0
    }
done
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# search MODEL MUTANT [option of pan]: all states up to 2,000 steps deep, in 1.5 GB. All loops of the models are bounded
# and their waits block, so that an endless wait is a state without a successor.
search() {
    level=$((1 - ($2 > 0))) # the protocol has millions of states, a mutant few
    (cd "$dir" && rm -f pan* ./*.trail && spin -P"$cc -E -x c" -a -DMUTANT="$2" "$models/$1.pml" &&
        $cc -w -O$level -DSAFETY -DMEMLIM=1500 -o pan pan.c &&
        timeout 300 ./pan -m2000 -w$((20 + 2 * level)) -n $3) >"$dir/out" 2>&1
}

# Results of the last search.
states() { sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$dir/out"; }
depth() { sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' "$dir/out"; }

if [ $# -eq 2 ]; then
    search "$1" "$2"
    cat "$dir/out"
    [ ! -f "$dir/$1.pml.trail" ] ||
        spin -P"$cc -E -x c" -k "$dir/$1.pml.trail" -p -g -l -DMUTANT="$2" "$models/$1.pml"
    exit
fi

for model in lock barrier rounds ring fence retire result words pipeline lanes stream order am pull collect broadcast by_nodes scan gpc tag_claim tag_cancel doorbell; do
    sed -n '/^ \* Bound:/,/^ \*$/s/^ \* /# /p' "$models/$model.pml"
    search $model 0
    grep -q 'errors: 0$' "$dir/out" && ! grep -Eq '^error|not completed|^pan:1|out of memory' "$dir/out"
    ok $? "$model: no error in all $(states) states; depth $(depth)" "$dir/out"
    sed -n 's/^ \* mutant \([0-9]*\)  *\(assert\|end\)  *\(.*\)/\1 \2 \3/p' "$models/$model.pml" >"$dir/mutants"
    [ "$(wc -l <"$dir/mutants")" -eq "$(grep -o '\<M([0-9]*)' "$models/$model.pml" | sort -u | wc -l)" ]
    ok $? "$model: the comment lists the model's mutants" "$dir/mutants"
    while read -r mutant property what; do
        case $property in # the two kinds of error
        assert) option=-E found='assertion violated [^-]' ;;
        end) option=-A found='invalid end state' ;;
        esac
        search $model "$mutant" $option
        grep -q "^pan:1: $found" "$dir/out"
        ok $? "$model: mutant $mutant ($property): $what" "$dir/out"
    done <"$dir/mutants"
done
plan
