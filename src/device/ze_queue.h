/*
 * ze_queue.h - copies that end later: for requests of kernels and for records of the network an asynchronous command list each, of the
 * device's group of queues for copies where there is one, so that its copy engines make them beside kernels and the network.
 *
 * Commands of such a list may overlap: a barrier precedes each copy that must not. marks.h shows which have ended.
 *
 *   word      written by                           read by       order
 *   the rest  thread of the queue, one at a time   the same      plain
 */
#ifndef SHI_DEVICE_ZE_QUEUE_H
#define SHI_DEVICE_ZE_QUEUE_H

#include <level_zero/ze_api.h>

#include "device/device.h"

/* Number of the device's group of queues that make copies only, or else 0. */
uint32_t shi_ze_copy_group(ze_device_handle_t device);

/* 0, or -errno after one line. Pair: shi_ze_queue_down, also after an error, when no copy is under way. */
int shi_ze_queue_up(ze_context_handle_t context, ze_device_handle_t device);
void shi_ze_queue_down(void);

/* copies_start and copies_ended of device.h. */
int shi_ze_queue_start(enum shi_device_queue q, const struct shi_device_copy *c, int n);
int shi_ze_queue_ended(enum shi_device_queue q, uint64_t *n);

/* Wait until all copies of the queue have ended; then count one that the caller has made itself. */
int shi_ze_queue_drain(enum shi_device_queue q);
void shi_ze_queue_count(enum shi_device_queue q);

#endif
