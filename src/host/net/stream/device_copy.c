/* device_copy.c - copies of the device for the network: see device_copy.h. */
#include "host/net/stream/device_copy.h"

#include <string.h>

#include "host/net/node/amo_word.h"
#include "host/util/copying.h"
#include "host/util/log.h"

#define DEVICE (shi_stream_net.own[SHI_REGION_DEVICE].device)

static void failed(const char *what, int err)
{
    shi_die("network", "the device cannot %s: %s", what, strerror(-err));
}

uint64_t shi_device_copy(void *to, const void *from, size_t bytes)
{
    uint64_t number = shi_stream_net.copies_started + 1;
    struct shi_copying *c = shi_copying_begin("network", bytes); /* the driver on the CPU makes the whole copy in that call */
    int err = DEVICE->start(to, from, bytes);
    shi_copying_end(c);
    if (err)
        failed("start a copy for the network", err);
    return shi_stream_net.copies_started = number;
}

/* Assignments whose copies have ended hold the lock no longer, see stream_device.h. */
static void release_assigned(void)
{
    if (!shi_stream_net.assigned || shi_stream_net.assigned > shi_stream_net.copies_ended)
        return;
    shi_stream_net.assigned = 0;
    shi_amo_unlock(DEVICE->word_lock); /* R8 */
}

int shi_device_copy_poll(void)
{
    uint64_t before = shi_stream_net.copies_ended;
    if (before == shi_stream_net.copies_started)
        return 0;
    int err = DEVICE->ended(&shi_stream_net.copies_ended);
    if (err)
        failed("copy data of the network", err);
    if (shi_stream_net.copies_ended == before)
        return 0;
    release_assigned();
    shi_stream_step();
    return 1;
}

uint64_t shi_device_copies_overdue(unsigned checks)
{
    uint64_t left = shi_stream_net.copies_started - shi_stream_net.copies_ended;
    if (!left || shi_stream_net.copies_ended != shi_stream_net.copies_checked)
        shi_stream_net.copy_checks = 0;
    shi_stream_net.copies_checked = shi_stream_net.copies_ended;
    return left && shi_stream_net.copy_checks++ >= checks ? left : 0;
}
