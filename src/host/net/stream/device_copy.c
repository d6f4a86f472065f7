/* device_copy.c - copies of the device for the network: see device_copy.h. */
#include "host/net/stream/device_copy.h"

#include <string.h>

#include "host/util/log.h"

#define COPIES (&shi_stream_net.copies)

static void failed(const char *what, int err)
{
    shi_die("network", "the device cannot %s: %s", what, strerror(-err));
}

void shi_device_copy_up(const struct shi_stream_device *device)
{
    *COPIES = (struct shi_copies){.start = device->start, .look = device->ended, .routine = "network", .agent = SHI_COPIES_RECORDS};
}

uint64_t shi_device_copy(void *to, const void *from, size_t bytes)
{
    return shi_copies_add(COPIES, to, from, bytes, 0);
}

int shi_device_copy_poll(void)
{
    int err = shi_copies_submit(COPIES);
    if (err)
        failed("start a copy for the network", err);
    int further = shi_copies_look(COPIES);
    if (further < 0)
        failed("copy data of the network", further);
    if (further)
        shi_stream_step();
    return further;
}

uint64_t shi_device_copies_overdue(unsigned checks)
{
    uint64_t left = COPIES->started - COPIES->ended;
    if (!left || COPIES->ended != shi_stream_net.copies_checked)
        shi_stream_net.copy_checks = 0;
    shi_stream_net.copies_checked = COPIES->ended;
    return left && shi_stream_net.copy_checks++ >= checks ? left : 0;
}
