/*
 * settle.h - make data visible in this PE's device memory before a message that announces it is applied.
 *
 * A NIC's writes to a device and its writes to the host's memory take different ways, so that a message can overtake the data
 * of a write before it, though both came in order. A read of the device's memory by the same NIC takes the way of the data and
 * pushes it forward: it ends behind them.
 *
 *   provider                         data is visible
 *   tcp, net, sockets, udp, shm      before a later message: they copy by calls that have ended (no SHI_NET_LATE)
 *   verbs, efa, opx, psm3            once such a read has ended
 *   cxi                              also when a write with FI_DELIVERY_COMPLETE has ended; but signals do not wait for that
 *
 * CUDA devices with CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING of OWNER or more see data in order, too.
 *
 * All state belongs to the thread that polls.
 */
#ifndef SHI_SETTLE_H
#define SHI_SETTLE_H

#include <stdint.h>

/* Start to make visible what has come so far: shi_settle_ended of the result says when it is. */
uint64_t shi_settle(void);
int shi_settle_ended(uint64_t n);

/* No read is under way, and none will end. */
void shi_settle_leave(void);

#endif
