#!/usr/bin/env bash
# install.sh - make install into a staging folder, then move the tree; everything must work from its new place.
#
# Catches: an installed file that needs a path of the source tree, the build tree or the prefix.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log

make -C "$top_builddir" install DESTDIR="$work/stage" prefix=/opt/fulmar > "$log" 2>&1
ok $? "make install DESTDIR= prefix=" "$log"
mv "$work/stage/opt/fulmar" "$work/a place"
if [ -n "$(ls "$work/stage/opt")" ] || [ "$(ls "$work/stage")" != opt ]; then
    find "$work/stage" > "$log"
    false
fi
ok $? "nothing outside the prefix" "$log"
at=$work/moved
mv "$work/a place" "$at"
run() { # program, expected lines
    env -u LD_LIBRARY_PATH timeout 60 "$at/bin/oshrun" -n 2 "$1" > "$work/out" 2>> "$log" && [ "$(sort "$work/out")" = "$2" ]
}

cp "$top_srcdir/examples/hello.c" "$work"
hello=$(printf 'Hello from PE %d of 2\n' 0 1)
"$at/bin/oshcc" "$work/hello.c" -o "$work/hello" > "$log" 2>&1 && run "$work/hello" "$hello"
ok $? "oshcc builds a program that runs" "$log"
! ldd "$work/hello" | grep -v "$at/lib/libfulmar.so.1 " | grep libfulmar > "$log"
ok $? "the program finds the moved library, by its soname" "$log"
if [ -f "$at/lib/libfulmar.a" ]; then
    "$at/bin/oshcc" --static-shmem "$work/hello.c" -o "$work/static" > "$log" 2>&1 && run "$work/static" "$hello"
    ok $? "oshcc --static-shmem" "$log"
fi
"$at/bin/oshinfo" > "$log" 2>&1
ok $? "oshinfo finds the library" "$log"

for shell in bash fish zsh; do
    if ! command -v $shell > /dev/null; then
        skip "$shell's completion is installed" "it is not installed"
        continue
    fi
    (PATH=$at/bin:$PATH && case $shell in
    bash) # the way bash-completion loads the file for the first completion of oshinfo
        . "$at/share/bash-completion/completions/oshinfo" && COMP_LINE='oshinfo --js' COMP_POINT=12 && _fulmar oshinfo &&
            echo "${COMPREPLY[0]}"
        ;;
    fish) HOME=$work fish --no-config -c 'set fish_complete_path $argv[1]; complete -C "oshinfo --js"' "$at/share/fish/vendor_completions.d" ;;
    zsh) echo 'oshinfo --js' | zsh -f "$top_srcdir/test/launch/complete.zsh" "$at/share/zsh/site-functions" ;;
    esac) > "$log" 2>&1
    grep -q '^--json' "$log"
    ok $? "$shell's completion is installed" "$log"
done

PKG_CONFIG_PATH=$at/lib/pkgconfig && export PKG_CONFIG_PATH
# shellcheck disable=SC2046
${CC:-cc} "$work/hello.c" -o "$work/by-pc" $(pkg-config --cflags --libs fulmar) "-Wl,-rpath,$at/lib" \
    > "$log" 2>&1 && run "$work/by-pc" "$hello"
ok $? "pkg-config gives the flags" "$log"
${CC:-cc} "$work/hello.c" -o "$work/by-sma" -I "$at/include" -L "$at/lib" -lsma "-Wl,-rpath,$at/lib" > "$log" 2>&1 &&
    run "$work/by-sma" "$hello" && ! readelf -d "$work/by-sma" | grep libsma > "$log"
ok $? "-lsma links with libfulmar" "$log"
[ "$(realpath "$(pkg-config --variable=oshrun fulmar)")" = "$(realpath "$at/bin/oshrun")" ] && pkg-config --validate fulmar > "$log" 2>&1
ok $? "pkg-config names the launcher" "$log"
[ "$(pkg-config --define-prefix --variable=oshrun fulmar)" = "$at/bin/oshrun" ]
ok $? "pkg-config --define-prefix names it too"

# Environment Modules, or Lmod.
inits=$(ls /usr/share/{modules,lmod/lmod}/init/bash 2> "$log")
if [ "$inits" ]; then
    for init in $inits; do
        (
            . "$init" && module use "$at/share/modulefiles" && module load fulmar && oshcc "$work/hello.c" -o "$work/by-module" &&
                [ "$(command -v oshrun)" = "$at/bin/oshrun" ] && [ "${LD_LIBRARY_PATH%%:*}" = "$at/lib" ] && run "$work/by-module" "$hello" &&
                module unload fulmar && [ "$(command -v oshrun)" != "$at/bin/oshrun" ]
        ) > "$log" 2>&1
        ok $? "module load fulmar, with $init" "$log"
    done
else
    skip "module load fulmar" "no environment modules are installed"
fi

# Kernels need clang and a device backend; without them CMake builds only the host programs.
kernels=OFF
(. "$top_srcdir/src/tools/llvm.sh" && find_llvm) && [ -f "$at/lib/libze_cpu.so" ] && kernels=ON
cp "$top_srcdir"/test/install/CMakeLists.txt "$top_srcdir"/examples/pass.c* "$work"
if command -v cmake > /dev/null; then
    cmake -S "$work" -B "$work/b" -DCMAKE_PREFIX_PATH="$at" -DKERNELS=$kernels > "$log" 2>&1 && cmake --build "$work/b" >> "$log" 2>&1
    ok $? "find_package(Fulmar) and a build with it" "$log"
    (cd "$work/b" && ctest --no-tests=error --output-on-failure) > "$log" 2>&1
    ok $? "the programs built with find_package run" "$log"
    for wrong in 0.2 1 99.9; do
        sed "s/Fulmar 0.1/Fulmar $wrong/" "$top_srcdir/test/install/CMakeLists.txt" > "$work/CMakeLists.txt"
        ! cmake -S "$work" -B "$work/wrong" -DCMAKE_PREFIX_PATH="$at" > "$log" 2>&1
        ok $? "find_package refuses version $wrong" "$log"
    done
else
    skip "find_package(Fulmar)" "cmake is not installed"
fi

# Intel SHMEM's package: a program for the host with any compiler, one in SYCL by both ways to call AdaptiveCpp.
ishmem() { # description, folder, arguments of cmake
    mkdir -p "$work/$2" && cp "$top_srcdir/test/install/ishmem.cmake" "$work/$2/CMakeLists.txt" &&
        cmake -S "$work/$2" -B "$work/$2/b" "-DCMAKE_PREFIX_PATH=$at;$acpp" "${@:3}" > "$log" 2>&1 &&
        cmake --build "$work/$2/b" >> "$log" 2>&1 && (cd "$work/$2/b" && ctest --no-tests=error --output-on-failure) >> "$log" 2>&1
    ok $? "find_package(ISHMEM): $1" "$log"
}
if command -v cmake > /dev/null; then
    cat > "$work/host.cpp" << 'END'
#include <ishmem.h>
#include <cstdio>
int main()
{
    ishmem_init();
    static long from;
    ishmem_long_p(&from, 10 * ishmem_my_pe(), (ishmem_my_pe() + 1) % ishmem_n_pes());
    ishmem_barrier_all();
    printf("PE %d of %d: %ld\n", ishmem_my_pe(), ishmem_n_pes(), from);
    ishmem_finalize();
}
END
    ishmem "a program for the host" host "-DEXAMPLE=$work/host.cpp"
    ! cmake -S "$work/host" -B "$work/host/9" -DCMAKE_PREFIX_PATH="$at" "-DEXAMPLE=$work/host.cpp" -DVERSION=1.5.2 > "$log" 2>&1
    ok $? "find_package(ISHMEM) refuses version 1.5.2" "$log"
    . "$top_srcdir/test/lib/sycl.sh"
    if find_sycl "$work/jit"; then
        acpp=$(dirname "$(dirname "$(command -v acpp)")")
        ishmem "SYCL with acpp" acpp -DCMAKE_CXX_COMPILER=acpp "-DBEFORE=-Wl,--no-as-needed;ze_loader" "-DEXAMPLE=$top_srcdir/examples/pass_sycl.cpp"
        ishmem "SYCL with AdaptiveCpp's launcher" launcher -DACPP_LAUNCHER=ON "-DEXAMPLE=$top_srcdir/examples/pass_sycl.cpp"
    else
        skip "find_package(ISHMEM): SYCL" "$no_sycl"
    fi
else
    skip "find_package(ISHMEM)" "cmake is not installed"
fi
if [ $kernels = ON ]; then
    "$at/bin/oshcc" "$work/pass.c" "$work/pass.cl" -o "$work/pass" > "$log" 2>&1 &&
        run "$work/pass" "$(printf 'PE %d of 2: %d\n' 0 10 1 0)"
    ok $? "a kernel runs on the moved CPU driver" "$log"
else
    skip "a kernel on the moved CPU driver" "LLVM with llvm-spirv or the device backend is missing"
fi
plan
