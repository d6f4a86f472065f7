/*
 * written.h - writes of a stream that are in place at the target, so that a message can follow them without a round trip
 * on a network that does not order messages after writes.
 *
 * The sender numbers the writes of a stream from 1. A message that must follow the first n of them carries n, and its
 * receiver does not apply it before these are in place. The receiver knows that by one of
 *
 *   SHI_WRITTEN_IMMEDIATE  each write carries its number as immediate data (SHI_NET_IMMEDIATE)
 *   SHI_WRITTEN_COUNTER    the sender writes n to a counter at the target, behind the writes (SHI_NET_WAW)
 *
 * SHI_WRITTEN_END: it does not; the sender waits until its writes have ended. Also where the network orders messages after
 * writes, and no such wait is needed.
 *
 *   word                   written by                       read by                  order
 *   numbers[pe]            thread that polls                it                       plain
 *   counters[pe][lane]     the network, for PE pe's lane    thread that polls        A1: the data lies before it
 *   announcement           sender, under the lane's lock    the network              until its write has ended
 */
#ifndef SHI_WRITTEN_H
#define SHI_WRITTEN_H

#include "host/net/stream/lane.h"

/* Write `number`, of which the lowest bits are given, is in place. 0: it is none that can be missing. */
int shi_written_add(struct shi_written *w, uint32_t number, int bits);

/* After the transport is up: how this PE learns of writes. 0 or -errno. */
int shi_written_up(int n_pes);
void shi_written_leave(void);

/* PE pe is another process, which has written nothing. */
void shi_written_forget(int pe);

/* shi_net_written of the streams. */
void shi_written_arrived(uint32_t immediate);

/* Are the first n writes of PE pe's lane in place? */
int shi_written_is(int pe, int lane, uint64_t n);

/* The immediate data of a write of this PE. */
uint32_t shi_written_immediate(int lane, uint64_t number);

/* Let the target know that the writes to PE pe so far are behind it, where it does not count them. The lane is locked. 1, or
 * 0: the transport has no room, try again. */
int shi_written_announce(struct shi_lane *l, int pe);

#endif
