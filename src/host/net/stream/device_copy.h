/*
 * device_copy.h - copies between this PE's device memory, which the host cannot access, and host memory that the device can
 * access. The device makes them in order. By the thread that polls.
 */
#ifndef SHI_DEVICE_COPY_H
#define SHI_DEVICE_COPY_H

#include "host/net/stream/lane.h"

/* Make copies by this device; none has been made. */
void shi_device_copy_up(const struct shi_stream_device *device);

/* Gather a copy. Returns the number of copies that will have ended when it has. */
uint64_t shi_device_copy(void *to, const void *from, size_t bytes);

/* Submit the gathered copies, look which have ended, or end the job. 1: further ones have. */
int shi_device_copy_poll(void);

/* For checks at regular intervals: how many copies have not ended, when none has in more than `checks` checks. 0: none is late. */
uint64_t shi_device_copies_overdue(unsigned checks);

static inline int shi_device_copy_ended(uint64_t number)
{
    return number <= shi_stream_net.copies.ended;
}

#endif
