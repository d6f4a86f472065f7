/*
 * stream_device.h - records on device memory that the host cannot load and store. The device copies; the thread that polls
 * starts copies and never waits for them: the message keeps its place in its stream, and end_of_poll goes on with it.
 *
 *   record      copies                                           the message goes on
 *   put         payload to device                                at once with a further put, else when they have ended
 *   update      word to host; new value to device                when each has ended
 *   get         device to host                                   when they have ended, with the reply
 *   pull, push  by pipeline.h                                    when all has ended; push: with the reply
 *
 * The device makes copies in order. A message's buffer is memory that the device can access, in one of few slots, until
 * all its copies have ended; a message without a slot waits in memory of util/kept. Only the next message of a stream, and those that
 * continue it (start_ahead in stream_rx.c), take slots, and none of them waits for a slot while it holds one: so slots become free.
 *
 *   word            written by                               read by             order
 *   message in slot thread that polls, device                thread that polls   a copy has ended (`ended` of the device)
 *   word_lock       agents of proxy/staged.c                 the same            A8, R8 of proxy/staged.c
 *
 * Assignments, which need no old value, hold word_lock together, and the records behind them do not wait for their copies; device_copy.c releases
 * it when these have ended. After some of them another agent gets its turn.
 */
#ifndef SHI_STREAM_DEVICE_H
#define SHI_STREAM_DEVICE_H

#include "host/net/stream/lane.h"
#include "host/net/stream/pipeline.h"
#include "host/net/stream/stream_wire.h"

/* A message that overtook others of its stream, or waits for writes or copies. */
struct stashed {
    struct stashed *next;
    uint32_t at;       /* bytes of it before the record that is next; 0: none was looked at */
    uint8_t step;      /* of that record */
    uint8_t in_slot;
    uint64_t settled;  /* of settle.h; 0: not requested yet */
    uint64_t after;    /* copies that must have ended before the next step */
    uint64_t word[2];  /* before and after an update */
    struct shi_transfer transfer; /* of a pull or push; in a slot */
    const struct record *served;  /* that record; NULL: none is in progress */
    uint64_t data[];
};

/* Bytes of device-accessible memory for n messages. */
size_t shi_stream_device_bytes(int n);

/* This PE's device is `device`, with memory for n messages. */
void shi_stream_device_up(const struct shi_stream_device *device, int n);

/* A slot for the message h, for the caller to fill in. NULL: none is free. */
struct stashed *shi_stream_device_take(const struct head *h);
void shi_stream_device_release(struct stashed *s);

/* Have all copies for this message ended? */
static inline int shi_stream_device_ended(const struct stashed *s)
{
    return s->after <= shi_stream_net.copies_ended;
}

/* Carry out r, the next record of a message in a slot, as far as possible. 1: the next record may follow; 0: try again. */
int shi_stream_device_step(struct stashed *s, const struct record *r);

#endif
