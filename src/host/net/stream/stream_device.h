/*
 * stream_device.h - records on device memory that the host cannot load and store. The device copies; the thread that polls
 * gathers copies (copies.h) and never waits for them: the message keeps its place in its stream, and end_of_poll goes on with it.
 *
 *   record      copies                                           the message goes on
 *   put         payload to device                                at once with records on device memory, else when they have ended
 *   update      word to host; new value to device (words.h)      at once with puts and updates up to a fence, else when it is written
 *   get         device to host                                   when they have ended, with the reply
 *   pull, push  by pipeline.h                                    when all has ended; push: with the reply
 *
 * The device makes copies in order. What comes in one poll is one submission: puts, and behind them the words of updates, which need
 * another one if their old values count. A message ends, and is acknowledged, when all its copies have ended; a fetched value is sent then.
 * A put that continues the one before it, in the message and in device memory, makes that copy longer: its payload moves to the other's end.
 *
 * A message's buffer is memory that the device can access, in one of few slots, until
 * all its copies have ended; a message without a slot waits in memory of util/kept. Only the next message of a stream, and those that
 * continue it (start_ahead in stream_rx.c), take slots, and none of them waits for a slot while it holds one: so slots become free.
 * An update takes one of few struct device_update, and keeps it until its copies have ended, for which it waits for no further one.
 *
 *   word            written by                               read by             order
 *   message in slot thread that polls, device                thread that polls   a copy has ended (`ended` of the device)
 *   word_lock       words.h                                  the same            A8, R8
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
    uint64_t fenced;   /* the last copy gathered before the last record behind a fence */
    uint32_t joined;   /* updates whose words are not written yet */
    uint32_t fetching; /* updates whose old values are not sent yet */
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
    return !s->joined && !s->fetching && s->after <= shi_stream_net.copies.ended;
}

/* Carry out r, the next record of a message in a slot, as far as possible. 1: the next record may follow, and r may have been overwritten;
 * 0: try again. */
int shi_stream_device_step(struct stashed *s, struct record *r);

/* Go on with updates; if that writes no word, submit what records have gathered. 1: messages may go on, then call it again. */
int shi_stream_device_poll(void);

#endif
