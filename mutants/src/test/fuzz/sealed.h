/*
 * sealed.h - tagged messages whose data has a tag of its own (shi_am_seal): one that was changed on its way changes nothing, and the right
 * one, which comes after it, is received.
 */
#ifndef FUZZ_SEALED_H
#define FUZZ_SEALED_H

#include "handlers.h"

enum { SEALED_BYTES = 10000 };

static int sealed_is_right, opened;
static char sealed_message[SHI_AM_FRONT_BYTES + SEALED_BYTES] __attribute__((aligned(8)));

/* As stream_rx.c does. */
static int open_seal(const struct shi_am_seal *self, void *to, const void *data, size_t bytes)
{
    CHECK(self->pe == 1 && data == sealed_message + SHI_AM_FRONT_BYTES && bytes == SEALED_BYTES);
    opened++;
    if (to)
        memcpy(to, data, bytes);
    return sealed_is_right;
}

static void arrive_sealed(int is_right, int id)
{
    const struct shi_am_seal seal = {open_seal, 0, 1};
    sealed_is_right = is_right;
    opened = 0;
    CHECK(shi_am_deliver_now(1, (enum shi_am_id)id, sealed_message, sizeof sealed_message, &seal));
    CHECKF(opened == 1, "the data was checked %d times", opened);
}

static void write_sealed(int kind, uint64_t tag)
{
    *(struct shi_tag_head *)sealed_message = (struct shi_tag_head){.kind = (unsigned)kind & 0xff, .team = shi_team_world.number, .source = 1,
                                                                   .tag = tag};
    for (int i = 0; i < SEALED_BYTES; i++)
        sealed_message[SHI_AM_FRONT_BYTES + i] = (char)(i * 7 + (int)tag);
}

static int is_found(uint64_t tag)
{
    const struct shi_tag_params params = {.key = {.tag = tag, .mask = ~0ull, .source = SHI_MATCH_ANY}, .pe = SHI_MATCH_ANY};
    shmemx_tag_status_t status;
    return shi_tag_probe(&params, NULL, &status);
}

static void open_conversation(void)
{
    no_room = no_expose = 0;
    shi_world.config.tag_eager_bytes = 20000;
    shi_tag_start("fuzz");
}

/* Catches: a changed message that completes a receive, or takes it away from the right one; one that is kept as unexpected, or is
 * answered; data that a receive does not get as a whole, or whose check it leaves out because it is shorter. */
static void sealed(void)
{
    const uint64_t *used;
    open_conversation();
    used = &shi_tag_peer_of(1)->credit_due;
    for (int longer = 0; longer < 2; longer++) {
        for (uint64_t tag = 1; tag <= 3; tag++) {
            size_t room = tag == 1 ? SEALED_BYTES : tag == 2 ? 12000 : 100;
            write_sealed(SHI_TAG_EAGER, tag);
            if (longer)
                arrive_sealed(0, SHI_AM_TAG);
            receive(room, tag);
            struct shmemx_tag_request *r = &requests[n_requests - 1];
            uint64_t before = *used;
            arrive_sealed(0, SHI_AM_TAG);
            CHECKF(!shi_tag_is_done(r) && r->posted && *used == before, "receive of %zu bytes: a changed message has come", room);
            arrive_sealed(1, SHI_AM_TAG);
            CHECKF(shi_tag_is_done(r) && r->status.bytes == SEALED_BYTES && r->status.truncated == (room < SEALED_BYTES),
                   "receive of %zu bytes: the right message has not come", room);
            CHECK(memcmp(r->data.one.base, sealed_message + SHI_AM_FRONT_BYTES, room < SEALED_BYTES ? room : SEALED_BYTES) == 0);
        }
    }
    write_sealed(SHI_TAG_EAGER, 9);
    arrive_sealed(0, SHI_AM_TAG);
    CHECK(!is_found(9));
    arrive_sealed(1, SHI_AM_TAG);
    CHECK(is_found(9));
    receive(SEALED_BYTES, 9);
    CHECK(shi_tag_is_done(&requests[n_requests - 1]));
    CHECK(memcmp(requests[n_requests - 1].data.one.base, sealed_message + SHI_AM_FRONT_BYTES, SEALED_BYTES) == 0);
    int answers = n_queue; /* credits */
    for (int kind = 0; kind <= SHI_TAG_CANCEL_ACK; kind++) {
        write_sealed(kind, 10);
        arrive_sealed(0, SHI_AM_TAG);
        arrive_sealed(0, SHI_AM_GPC);
    }
    CHECKF(n_queue == answers && !is_found(10), "%d answers to changed messages", n_queue - answers);
    close_conversation();
}

#endif
