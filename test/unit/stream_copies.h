/* stream_copies.h - how many copies and submissions records on device memory take that come in one message; a part of stream.c. */
#ifndef TEST_UNIT_STREAM_COPIES_H
#define TEST_UNIT_STREAM_COPIES_H

#include "stream_ops.h"

enum form { PUT_EACH, PUT_ROW, SET_EACH, ADD_ONE, UPDATE_EACH, UPDATE_ONE, FETCH_EACH, FETCH_ONE };

/* The i-th of these records, and a signal behind a put. */
static void send_form(struct shi_lane *l, enum form form, uint64_t i)
{
    static uint64_t data, got;
    struct area *a = &memory[1].area[0][1];
    struct shi_remote_addr there = at_remote(1, SHI_REGION_DEVICE, a->slot[0] + (form == PUT_ROW ? i : 2 * i));
    struct shi_remote_addr word = at_remote(1, SHI_REGION_DEVICE, &a->count), signal = at_remote(1, SHI_REGION_DEVICE, &a->signal);
    struct shi_reply reply = {.to = (char *)&got, .block = 8};
    data = i + 1;
    if (form >= UPDATE_EACH)
        CHECK(shi_stream_amo(l, form == UPDATE_ONE || form == FETCH_ONE ? &word : &there, 8, SHI_AMO_ADD, 1, 0,
                             form < FETCH_EACH ? NULL : &reply, 0, NULL) == 0);
    else
        CHECK(shi_stream_put(l, &there, &data, 8, form >= SET_EACH ? SHI_STREAM_MORE : 0, NULL) == 0);
    if (form == SET_EACH || form == ADD_ONE)
        CHECK(shi_stream_amo(l, &signal, 8, form == SET_EACH ? SHI_AMO_SET : SHI_AMO_ADD, form == SET_EACH ? i + 1 : 1, 0, NULL,
                             SHI_STREAM_AFTER_WRITES, NULL) == 0);
}

/* Catches: records of one message that are submitted one by one, words that are copied for each update, signals that are written one by one,
 * a wait between a signal and its data; puts of neighbouring words that are copied one by one, or as one copy beyond a fence. */
static void copies_of_a_message(void)
{
    enum { MANY = 24 };
    static const struct {
        enum form form;
        const char *name;
        uint64_t n;
        int fences;
        uint64_t copies, submissions;
    } rows[] = {{PUT_EACH, "a put", 1, 0, 1, 1},
                {PUT_EACH, "puts", MANY, 0, MANY, 1},
                {PUT_EACH, "puts and fences", MANY, 1, MANY, 1},
                {PUT_ROW, "puts in a row", MANY, 0, 1, 1},
                {PUT_ROW, "puts in a row and fences", MANY, 1, MANY, 1},
                {SET_EACH, "a put with a signal", 1, 0, 2, 1},
                {SET_EACH, "puts with a signal", MANY, 0, MANY + 1, 1},
                {SET_EACH, "puts with a signal and fences", MANY, 1, 2 * MANY, 1},
                {ADD_ONE, "a put with an addition", 1, 0, 3, 2},
                {ADD_ONE, "puts with an addition", MANY, 0, MANY + 2, 2},
                {UPDATE_EACH, "an update", 1, 0, 2, 2},
                {UPDATE_EACH, "updates of a word each", MANY, 0, 2 * MANY, 2},
                {UPDATE_EACH, "updates of a word each and fences", MANY, 1, 2 * MANY, MANY + 1},
                {UPDATE_ONE, "updates of one word", MANY, 0, 2, 2},
                {FETCH_EACH, "fetching updates", 1, 0, 2, 2},
                {FETCH_ONE, "a fetching update", 1, 0, 2, 2}};
    on_devices = 1;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        memset(memory, 0, sizeof memory);
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = SHI_NET_SAW | SHI_NET_WAW,
                                          .lane_cap = 48, .peer_cap = 24});
        fabric.calm = 1;
        fabric_be(0);
        struct shi_lane *l = shi_stream_net.lane[1];
        shi_stream_session(l, 1);
        for (uint64_t i = 0; i < rows[k].n; i++) {
            send_form(l, rows[k].form, i);
            if (rows[k].fences)
                shi_stream_fence(l);
        }
        shi_stream_session(l, -1);
        for (int i = 0; i < 20000 && !is_quiet(l, 1); i++) {
            fabric_tick();
            fabric_be(i & 1);
            fabric_poll();
            fabric_be(0);
        }
        const struct fabric_device *d = &fabric_devices[1];
        const struct area *a = &memory[1].area[0][1];
        CHECKF(d->started == rows[k].copies && d->submissions == rows[k].submissions, "%lu %s: %lu copies, %lu submissions", rows[k].n,
               rows[k].name, d->started, d->submissions);
        for (uint64_t i = 0; i < rows[k].n; i++)
            CHECKF(rows[k].form >= UPDATE_EACH || a->slot[0][rows[k].form == PUT_ROW ? i : 2 * i] == i + 1, "%s: put %lu", rows[k].name, i);
        CHECK((rows[k].form != SET_EACH && rows[k].form != ADD_ONE) || a->signal == rows[k].n);
        CHECK((rows[k].form != UPDATE_ONE && rows[k].form != FETCH_ONE) || a->count == rows[k].n);
        CHECK(is_quiet(l, 1) && !d->word_lock);
    }
    on_devices = 0;
}

#endif
