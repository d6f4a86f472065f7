#!/bin/sh
# headers.sh - every header compiles alone and twice; public ones also as pedantic C99, C11 and C++. Catches: a header
# that needs another one before it, has no guard, or uses code that a user's stricter compiler refuses.
. "${top_srcdir:=.}/test/tap.sh"
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT

# Without Level Zero's headers the build leaves out the headers that include them; so does this test.
headers() { # ARGUMENTS OF FIND
    (cd "$top_srcdir" && find "$@" -name '*.h' | sort |
        if echo '#include <level_zero/ze_api.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
            cat
        else
            xargs grep -L -e level_zero -e ze_cpu/
        fi)
}

compiles() { # HEADER LANGUAGE DESCRIPTION COMPILER...
    header=$1 language=$2 what=$3
    shift 3
    printf '#include "%s"\n#include "%s"\nextern int nothing_else;\n' "$header" "$header" |
        "$@" -x "$language" -I"$top_srcdir/include" -I"$top_srcdir/src" -fsyntax-only -Wall -Wextra -Werror - >"$out" 2>&1
    ok $? "$header, $what" "$out"
}

for h in $(headers src ! -path 'src/tools/*' ! -path 'src/device/lib/*' ! -path 'src/cudart/*'); do # cudart needs CUDA's headers
    compiles "${h#src/}" c C ${CC:-cc} -std=gnu11 -D_GNU_SOURCE
done
for h in $(headers src/tools); do
    compiles "${h#src/}" c C ${CC:-cc} -std=gnu11 -D_GNU_SOURCE $PMIX_CFLAGS $HWLOC_CFLAGS
done
for h in $(headers include ! -path 'include/nvshmem/*'); do # which need CUDA's headers
    compiles "${h#include/}" c C99 ${CC:-cc} -std=c99 -pedantic
    compiles "${h#include/}" c C11 ${CC:-cc} -std=c11 -pedantic
    compiles "${h#include/}" c++ C++11 ${CXX:-c++} -std=c++11 -pedantic
    compiles "${h#include/}" c++ C++20 ${CXX:-c++} -std=c++2a -pedantic
done

# Each before all others, but parts of shmem.h. Catches: a header that takes a name of another one, and works only after it.
public=$(headers include ! -path 'include/nvshmem/*' ! -path '*ishmem*' ! -path '*_generic*' | sed 's|^include/||')
first() { # LANGUAGE COMPILER...
    printf '#include "%s"\n' "$h" $public 'shmem.h' | "$@" -I"$top_srcdir/include" -fsyntax-only -Wall -Wextra -Werror - >"$out" 2>&1
}
for h in $public; do
    first ${CC:-cc} -std=gnu11 -x c && first ${CXX:-c++} -std=c++17 -x c++
    ok $? "$h before all others" "$out"
done

# Catches: a form of an extension for C++ that is ambiguous or has another type.
${CXX:-c++} -x c++ -std=c++11 -pedantic -I"$top_srcdir/include" -fsyntax-only -Wall -Wextra -Werror - >"$out" 2>&1 <<'END'
#include <shmemx.h>
#include <type_traits>
float f;
double d;
shmemx_uint128_t u;
void calls(shmem_ctx_t c)
{
    static_assert(std::is_same<decltype(shmemx_atomic_fetch_add(c, &f, 1.0f, 0)), float>::value, "float");
    static_assert(std::is_same<decltype(shmemx_atomic_fetch_add(&d, 1, 0)), double>::value, "double");
    shmemx_atomic_add(&f, 1, 0), shmemx_atomic_add(c, &d, 1.0, 0);
    shmemx_atomic_fetch_add_nbi(&f, &f, 1.0f, 0), shmemx_atomic_fetch_add_nbi(c, &d, &d, 1, 0);
    u = shmemx_atomic_compare_swap(c, &u, u, u, 0), u = shmemx_atomic_compare_swap(&u, u, u, 0);
}
END
ok $? "the forms of shmemx_amo.h for C++ compile" "$out"
plan
