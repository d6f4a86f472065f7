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

# compile MODEL: one program for the protocol and all mutants. spin writes MUTANT into it as the number 271828, which becomes
# a variable of the program.
compile() {
    (cd "$dir" && rm -f pan* && spin -P"$cc -E -x c" -a -DMUTANT=271828 "$models/$1.pml" &&
        sed -i 's/\<271828\>/mutant/g' pan.[cmt] &&
        $cc -w -O1 -DSAFETY -DMEMLIM=1500 -include mutant.h -o pan pan.c) >"$dir/out" 2>&1
}
cat >"$dir/mutant.h" <<'END'
#include <stdlib.h>
static int mutant;
__attribute__((constructor)) static void set_mutant(void) { mutant = atoi(getenv("MUTANT")); }
END

# search MODEL MUTANT [option of pan]: all states up to 2,000 steps deep, in 1.5 GB. All loops of the models are bounded
# and their waits block, so that an endless wait is a state without a successor.
search() {
    (cd "$dir" && rm -f ./*.trail &&
        MUTANT=$2 timeout 300 ./pan -m2000 -w$(($2 ? 20 : 22)) -n $3) >"$dir/out" 2>&1 # a mutant has few states
}

# Results of the last search.
states() { sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$dir/out"; }
depth() { sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' "$dir/out"; }

if [ $# -eq 2 ]; then
    compile "$1" && search "$1" "$2"
    cat "$dir/out"
    [ ! -f "$dir/$1.pml.trail" ] ||
        spin -P"$cc -E -x c" -k "$dir/$1.pml.trail" -p -g -l -DMUTANT="$2" "$models/$1.pml"
    exit
fi

for model in lock barrier rounds ring reader fence retire result words pipeline lanes stream order am pull collect broadcast by_nodes scan gpc tag_claim tag_cancel doorbell page agree join renew revoke; do
    sed -n '/^ \* Bound:/,/^ \*$/s/^ \* /# /p' "$models/$model.pml"
    compile $model && search $model 0
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
