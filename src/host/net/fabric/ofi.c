/* ofi.c - load libfabric. */
#include "host/net/fabric/ofi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/fabric/ofi_absent.h"
#include "host/net/fabric/ofi_import.h"
#include "host/net/fabric/ofi_near.h"

struct shi_ofi_library shi_ofi;

static FILE *open_except_symbols(const char *path, const char *mode)
{
    if (strcmp(path, "/proc/kallsyms") != 0)
        return fopen(path, mode);
    errno = ENOENT;
    return NULL;
}

static void *load(void)
{
    return dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
}

/* Without its networks, and where libfabric does not need more of psm's libraries than their replacements have. */
static void *load_without_psm(void)
{
    struct shi_ofi_absent absent;
    shi_ofi_absent_open(&absent);
    void *lib = load();
    shi_ofi_absent_close(&absent);
    return lib;
}

/* The verbs provider reads all symbols of the kernel twice at start-up (30 ms each), even when FI_PROVIDER excludes it, to
 * learn which device memory its NICs can access. Without such a NIC the answer has no use. */
static void skip_kernel_symbols(void)
{
    if (!shi_ofi_has_rdma("/sys"))
        shi_ofi_import("fopen", (void *)open_except_symbols);
}

int shi_ofi_open(char *why, size_t bytes)
{
    if (shi_ofi.error)
        return 0;
    setenv("IPATH_NO_BACKTRACE", "1", 0); /* else libraries of old networks, which libfabric loads, handle signals */
    setenv("HFI_NO_BACKTRACE", "1", 0);
    setenv("FI_TCP_MAX_RX_SIZE", "0", 0); /* else tcp of libfabric 2 keeps 17 MB for tagged messages, which are not used here */
    int has_rdma = shi_ofi_has_rdma("/sys");
    if (!has_rdma) /* verbs;ofi_rxm has no flow control but its receives */
        setenv("FI_OFI_RXM_MSG_RX_SIZE", "1024", 0); /* else tcp;ofi_rxm posts 4,096 of 16 KiB and touches them all */
    void *lib = has_rdma ? NULL : load_without_psm();
    if (!lib)
        lib = load();
    if (!lib) {
        snprintf(why, bytes, "libfabric cannot be loaded (%s); install libfabric1", dlerror());
        return -ENOENT;
    }
    struct shi_ofi_library l = {.getinfo = dlsym(lib, "fi_getinfo"), .freeinfo = dlsym(lib, "fi_freeinfo"),
                                .dupinfo = dlsym(lib, "fi_dupinfo"), .fabric = dlsym(lib, "fi_fabric"),
                                .error = dlsym(lib, "fi_strerror")};
    uint32_t (*version)(void) = (uint32_t(*)(void))dlsym(lib, "fi_version");
    l.version = version ? version() : 0;
    if (!l.getinfo || !l.freeinfo || !l.dupinfo || !l.fabric || !l.error || l.version < FI_VERSION(1, 7)) {
        snprintf(why, bytes, "libfabric.so.1 is older than version 1.7");
        dlclose(lib);
        return -ENOENT;
    }
    skip_kernel_symbols();
    shi_ofi = l;
    return 0;
}
