# llvm.sh - the tools of LLVM that compile kernels to SPIR-V: find them, name missing packages, translate. Read by oshcc,
# configure, ./start and the tests.

# Set clang, opt and translate to the tools of the newest LLVM that has all three, or of version OSHCC_LLVM. They must be of
# one version, because each reads the file format of the one before it. Fail if there are none.
find_llvm() {
    for llvm in ${OSHCC_LLVM:-30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14}; do
        clang=$(first_of "clang-$llvm" "/usr/lib/llvm-$llvm/bin/clang" "/usr/lib/llvm$llvm/bin/clang") &&
            opt=$(first_of "opt-$llvm" "/usr/lib/llvm-$llvm/bin/opt" "/usr/lib/llvm$llvm/bin/opt") &&
            translate=$(first_of "llvm-spirv-$llvm" "/usr/lib/llvm-$llvm/bin/llvm-spirv") && return
    done
    llvm=$(llvm_major clang)
    [ "$llvm" ] && [ "$llvm" = "${OSHCC_LLVM:-$llvm}" ] && [ "$llvm" -ge 14 ] &&
        [ "$llvm" = "$(llvm_major opt)" ] && [ "$llvm" = "$(llvm_major llvm-spirv)" ] || return 1
    clang=clang opt=opt translate=llvm-spirv
}

first_of() { # programs: print the first that exists
    for program; do
        command -v "$program" && return
    done
    return 1
}

llvm_major() { # a tool without version in its name
    "$1" --version 2> /dev/null | sed -n '/version [0-9]/{s/.*version \([0-9]*\).*/\1/p;q;}'
}

# Print the packages to install for the newest LLVM that this system has with a translator; nothing if apt knows none. apt-cache
# show succeeds if it knows one of several packages.
llvm_packages() {
    for llvm in ${OSHCC_LLVM:-$(apt-cache pkgnames llvm-spirv- 2> /dev/null | sed -n 's/^llvm-spirv-\([0-9]*\)$/\1/p' | sort -rn)}; do
        for package in clang llvm llvm-spirv; do
            apt-cache show "$package-$llvm" > /dev/null 2>&1 || continue 2
        done
        echo "clang-$llvm llvm-$llvm llvm-spirv-$llvm"
        return
    done
}

# After find_llvm failed: print what to install.
llvm_missing() {
    llvm=$(llvm_packages)
    echo "compiling kernels needs clang, opt and llvm-spirv of one LLVM version${OSHCC_LLVM:+, $OSHCC_LLVM}; install" \
        "${llvm:-the packages of clang, llvm and SPIRV-LLVM-Translator, version 14 or later}"
}

# Optimizer passes that use only integer widths that the translator supports; -O2 does not. Drivers that neither inline
# nor unroll need these two passes: without them the device library has half its speed. If unrolling makes an
# unsupported width, it is left out.
inline="function(sroa,early-cse,simplifycfg),cgscc(inline,function(sroa,early-cse,simplifycfg))"
unroll="function(loop-simplify,lcssa,loop(loop-rotate,loop-unroll-full),sroa,early-cse,simplifycfg,dce)"
translated() { # FILE.bc, FILE.spv: after find_llvm
    for passes in "$inline,$unroll,globaldce" "$inline,globaldce"; do
        { "$opt" -passes="$passes" "$1" -o "$1.opt" && "$translate" "$1.opt" -o "$2"; } 2>"$1.log" && return
    done
    cat "$1.log" >&2
    return 1
}
