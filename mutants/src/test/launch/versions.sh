#!/bin/sh
# versions.sh - PEs of one node with different versions of the library: one line names both. Catches: two layouts of the same
# shared memory. Other versions of PMIx than the one that oshrun was compiled with.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
version=$("$top_builddir/src/tools/oshinfo" | sed -n 's/^Fulmar \([^ ,]*\),.*/\1/p')
other=$(echo "$version" | tr 0-8 1-9)
LC_ALL=C sed "s/$version/$other/g" "$top_builddir/.libs/libfulmar.so.1" >"$dir/libfulmar.so.1"

timeout -k 5 60 $OSHRUN -n 1 "$top_builddir/test/multi/soak" seconds=1 : \
    -n 1 -x LD_LIBRARY_PATH="$dir" "$top_builddir/test/multi/soak" seconds=1 >"$dir/out" 2>&1
[ $? -eq 1 ] && [ "$(grep -c ^fulmar "$dir/out")" -eq 1 ] && grep -q "^fulmar: PE 1: PE 0 has Fulmar $version, this PE has $other:" "$dir/out"
ok $? "a PE with another library than the first PE of its node ends the job" "$dir/out"
timeout -k 5 60 $OSHRUN -n 2 -x LD_LIBRARY_PATH="$dir" "$top_builddir/test/multi/soak" seconds=1 >"$dir/out" 2>&1
ok $? "control: a job of this other library ends well" "$dir/out"

# Catches: bytes behind oshrun's module of server functions that a newer PMIx, whose module is longer, takes for functions.
sed "s|OUT|$dir/read|" >"$dir/module.c" <<'END'
#include <dlfcn.h>
#include <pmix_server.h>
#include <stdio.h>
pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[], size_t ninfo)
{
    pmix_status_t (*next)(pmix_server_module_t *, pmix_info_t[], size_t) = dlsym(RTLD_NEXT, "PMIx_server_init");
    const char *behind = (const char *)(module + 1);
    FILE *out = fopen("OUT", "w"); // oshrun closes standard error meanwhile
    for (int i = 0; i < 64 * (int)sizeof(void *); i++)
        if (behind[i])
            fprintf(out, "byte %d behind the module is %d\n", i, behind[i]);
    fputs("module read\n", out);
    fclose(out);
    return next(module, info, ninfo);
}
END
# shellcheck disable=SC2086
${CC:-cc} -D_GNU_SOURCE -shared -fPIC $PMIX_CFLAGS "$dir/module.c" -o "$dir/module.so" -ldl >"$dir/out" 2>&1 &&
    LD_PRELOAD=$dir/module.so timeout -k 5 60 $OSHRUN -n 1 true >"$dir/out" 2>&1 && [ "$(cat "$dir/read")" = "module read" ]
ok $? "zeros follow oshrun's module of PMIx functions" "$dir/read"
plan
