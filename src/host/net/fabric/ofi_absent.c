/* ofi_absent.c - see ofi_absent.h. The libraries are bytes here, and become files in memory, so that an installation needs no
 * further files. */
#include "host/net/fabric/ofi_absent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char psm2[] = {
#include "host/net/fabric/psm2_absent.inc"
};
static const unsigned char psm1[] = {
#include "host/net/fabric/psm1_absent.inc"
};

/* NULL: not possible here, or the process has the library itself. *fd, -1 at first, stays open for the life of the process: a
 * debugger opens the library by this path, and would else open whatever has the number then, or one of its own descriptors. */
static void *load(const char *name, const unsigned char *image, size_t bytes, int *fd)
{
    char path[48];
    void *loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (loaded) {
        dlclose(loaded);
        return NULL;
    }
    if (*fd < 0)
        *fd = memfd_create(name, MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), *fd);
    return *fd >= 0 && pwrite(*fd, image, bytes, 0) == (ssize_t)bytes ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
}

void shi_ofi_absent_open(struct shi_ofi_absent *out)
{
    static int fd[2] = {-1, -1};
    void *libfabric = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);
    *out = (struct shi_ofi_absent){{NULL, NULL}};
    if (libfabric) {
        dlclose(libfabric);
        return;
    }
    out->library[0] = load("libpsm2.so.2", psm2, sizeof psm2, &fd[0]);
    out->library[1] = load("libpsm_infinipath.so.1", psm1, sizeof psm1, &fd[1]);
}

void shi_ofi_absent_close(struct shi_ofi_absent *a)
{
    for (int i = 0; i < 2; i++)
        if (a->library[i])
            dlclose(a->library[i]);
}
