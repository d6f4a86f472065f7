/* select.c - select a PE's device: the backends of this build, in the order in which they are tried. */
#include "device/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "host/util/log.h"

static const struct shi_device_ops *const backends[] = {
#ifdef HAVE_ZE
    &shi_device_ze,
#endif
    &shi_device_cuda,
#ifdef HAVE_ZE
    &shi_device_cpu,
    &shi_device_cuda_cpu, /* only by its name */
#endif
    NULL,
};

const struct shi_device_ops *shi_device;
static int n_images; /* that the program has registered */

int shi_device_find(const shi_config_device *choice, const struct shi_device_ops **out, int *n)
{
    int named = 0;
    for (int i = 0; backends[i]; i++) {
        if (choice->backend[0] ? strcmp(choice->backend, backends[i]->name) != 0 : backends[i] == &shi_device_cuda_cpu)
            continue;
        named = 1;
        *n = backends[i]->probe();
        *out = backends[i];
        if (*n)
            return *n < 0 ? *n : 0;
    }
    if (named)
        shi_log_error("SHMEM_DEVICE=%s: no device was found", choice->backend[0] ? choice->backend : "auto");
    else
        shi_log_error("SHMEM_DEVICE=%s: not in this build; install libze-dev (the Level Zero loader's headers) before "
                      "configure for the backends ze and cpu", choice->backend[0] ? choice->backend : "auto");
    return -ENODEV;
}

/* The index of this PE's device among n: PEs take the near devices in turn, or all devices when none is near. */
static int choose(const struct shi_device_ops *ops, int n, int local_index)
{
    int n_near = 0;
    for (int i = 0; ops->is_near && i < n; i++)
        n_near += ops->is_near(i);
    if (n_near == 0 || n_near == n)
        return local_index % n;
    int left = local_index % n_near;
    for (int i = 0;; i++)
        if (ops->is_near(i) && left-- == 0)
            return i;
}

/* One line of the node's first PE where PEs share a device on which they take turns. */
static void warn_of_turns(const struct shi_device_ops *ops, int n_local, int n_devices)
{
    static int said;
    const char *how;
    if (!said++ && n_local > n_devices && ops->takes_turns && ops->takes_turns(&how))
        shi_log_error("%d PEs share %d %s device%s and take turns of milliseconds, for which each wait for another PE waits: %s", n_local,
                      n_devices, ops->name, n_devices > 1 ? "s" : "", how);
}

int shi_device_take(const shi_config_device *choice, int local_index, int n_local, int *host_access)
{
    const struct shi_device_ops *ops;
    char text[256];
    int n, err = shi_device_find(choice, &ops, &n);
    if (err)
        return err;
    int i = choice->index != SHI_CONFIG_AUTO ? choice->index : choose(ops, n, local_index);
    if (i >= n) {
        shi_log_error("SHMEM_DEVICE=%s:%d: there are %d, from 0", ops->name, i, n);
        return -ENODEV;
    }
    err = ops->up(i, host_access);
    if (err)
        return err;
    shi_device = ops;
    if (local_index == 0)
        warn_of_turns(ops, n_local, choice->index != SHI_CONFIG_AUTO ? 1 : n);
    ops->describe(i, text, sizeof text);
    shi_log_debug("device %s:%d of %d: %s", ops->name, i, n, text);
    return 0;
}

int shi_device_kind(void)
{
    for (int i = 0; backends[i]; i++)
        if (backends[i] == shi_device)
            return i;
    return -1;
}

int shi_device_is_expected(const shi_config_device *choice)
{
    return n_images > 0 || choice->backend[0] || choice->index != SHI_CONFIG_AUTO;
}

void shi_device_registered(const void *image, size_t bytes)
{
    n_images++;
    for (int b = 0; backends[b]; b++)
        if (backends[b]->registered)
            backends[b]->registered(image, bytes);
}

int shi_device_describe(int i, char *text, size_t bytes)
{
    for (int b = 0; backends[b]; b++) {
        int n = backends[b]->probe();
        if (i < n) {
            int at = snprintf(text, bytes, "%s:%d ", backends[b]->name, i);
            if (at >= 0 && (size_t)at < bytes)
                backends[b]->describe(i, text + at, bytes - (size_t)at);
            return 0;
        }
        i -= n > 0 ? n : 0;
    }
    return -ENOENT;
}
