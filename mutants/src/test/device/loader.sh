#!/usr/bin/env bash
# loader.sh - kernels run although another library opened the Level Zero loader before the first call of the device.
#
# Catches: the loader's variable of drivers set too late, so that zeInit fails: for MPI_Init before shmem_init, for a
# libfabric that uses Level Zero, and for hwloc's plugin inside PMIx_Init.
. "${top_srcdir:=.}/test/device/run.sh"
unset ZE_ENABLE_ALT_DRIVERS

# A function that opens the loader as these libraries do.
cat > "$work/early.h" << 'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
static void open_loader(void)
{
    void *so = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = so ? (int (*)(unsigned))dlsym(so, "zeInit") : NULL;
    if (init)
        init(0);
}
END
pass=$(printf 'PE %d of 2: %d\n' 0 10 1 0)

# As MPI_Init does: in main, before shmem_init.
(cat "$work/early.h" && sed 's/^ *shmem_init();/open_loader(); &/' "$top_srcdir/examples/pass.c") > "$work/pass.c"
$OSHCC "$work/pass.c" "$top_srcdir/examples/pass.cl" -ldl -o "$work/pass" > "$work/log" 2>&1 && grep -q open_loader\(\)\; "$work/pass.c" &&
    $OSHRUN -n 2 "$work/pass" > "$work/out" 2>> "$work/log" && [ "$(sort "$work/out")" = "$pass" ]
ok $? "the loader is opened before shmem_init, a program with kernels" "$work/log"

# A program without kernels has to name its device early.
cat "$work/early.h" - > "$work/heap.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
int main(void)
{
    if (getenv("OPEN_LOADER"))
        open_loader();
    shmem_init();
    void *p = shmemg_malloc(1000);
    shmem_finalize();
    return p == NULL;
}
END
$OSHCC "$work/heap.c" -ldl -o "$work/heap" > "$work/log" 2>&1 && SHMEM_DEVICE=cpu OPEN_LOADER=1 run 2 1 "$work/heap"
ok $? "the loader is opened before shmem_init, SHMEM_DEVICE=cpu" "$work/log"

# As hwloc's plugins do: inside PMIx_Init, unless their components are excluded. Catches PoCL in each PE, too.
cat "$work/early.h" - > "$work/pmix.c" << 'END'
int PMIx_Init(void *proc, void *info, size_t n)
{
    const char *c = getenv("HWLOC_COMPONENTS");
    if (!c || !strstr(c, "-levelzero") || !strstr(c, "-opencl"))
        open_loader();
    int (*next)(void *, void *, size_t) = (int (*)(void *, void *, size_t))dlsym(RTLD_NEXT, "PMIx_Init");
    return next(proc, info, n);
}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC "$work/pmix.c" -ldl -o "$work/pmix.so" > "$work/log" 2>&1 &&
    run 2 1 env LD_PRELOAD="$work/pmix.so" "$work/heap"
ok $? "PMIx_Init opens the loader unless hwloc's plugins are excluded" "$work/log"
HWLOC_COMPONENTS=-gl run 2 1 env LD_PRELOAD="$work/pmix.so" "$work/heap"
ok $? "the same with HWLOC_COMPONENTS set" "$work/log"
# As a libfabric with Level Zero does: before oshinfo lists the devices.
{ cat "$work/early.h" && echo 'static __attribute__((constructor)) void early(void) { open_loader(); }'; } > "$work/fabric.c"
${CC:-cc} -shared -fPIC "$work/fabric.c" -ldl -o "$work/libfabric.so.1" > "$work/log" 2>&1 &&
    LD_LIBRARY_PATH=$work env -u SHMEM_DEVICE "$top_builddir/src/tools/oshinfo" >> "$work/log" 2>&1 && grep -q 'cpu:0 ze_cpu' "$work/log"
ok $? "libfabric opens the loader, oshinfo lists the devices" "$work/log"

plan
