/* library.c - finds the libraries of this installation that are drivers for the CPU. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"

int shi_device_library(const char *name, char *path, size_t bytes)
{
    Dl_info here;
    const char *slash = NULL;
    if (dladdr((void *)shi_device_library, &here) && here.dli_fname)
        slash = strrchr(here.dli_fname, '/');
    if (slash) {
        snprintf(path, bytes, "%.*s/%s", (int)(slash - here.dli_fname), here.dli_fname, name);
        if (access(path, R_OK) == 0)
            return 0;
    }
    snprintf(path, bytes, "%s/%s", SHI_LIBDIR, name);
    return access(path, R_OK) ? -ENOENT : 0;
}
