/* am_lost.c - active messages with a PE that has died, between forked processes. */
#include "am_node.h"

#include <errno.h>

enum { EACH = 3000 };

static struct shi_am_pending_send pending;
static int sent, queued, arrived, losses, *sent_by_dead;

static size_t length(int i)
{
    return i % 5 == 0 ? (size_t)i * 37 % SHI_AM_MAX_BYTES : (size_t)i % 100;
}

static void take(int pe, const void *msg, size_t bytes)
{
    const unsigned char *p = msg;
    CHECKF(pe == 1 && bytes == length(arrived) && (!bytes || p[bytes - 1] == (unsigned char)(arrived + (int)(bytes - 1) * 7)),
           "message %d has %zu bytes", arrived, bytes);
    arrived++;
}

/* Send until refused. */
static int send_on(struct shi_am_pending_send *s)
{
    (void)s;
    for (; sent < EACH; sent++) {
        void *room = shi_am_begin(!me, SHI_AM_TAG, length(sent));
        if (!room)
            return -EAGAIN;
        write_message(room, length(sent), (unsigned)sent);
        shi_am_end(!me, length(sent));
    }
    return queued = 0;
}

static void on_loss(int pe)
{
    CHECKF(pe == 1 && losses++ == 0 && arrived == *sent_by_dead && !queued && shi_am_loses(1) && !shi_am_is_lost(1),
           "PE %d is lost after %d of %d messages, with queue %d", pe, arrived, *sent_by_dead, queued);
}

/* PE 1 sends until its FIFO is full, and receives nothing. */
static void loss(void)
{
    sent_by_dead = (int *)shared + 64;
    pending.retry = send_on;
    shi_am_handle(SHI_AM_TAG, take);
    shi_am_on_loss(SHI_AM_TAG, on_loss);
    CHECK(shi_am_start() == 0 && send_on(&pending) == -EAGAIN);
    if (me)
        *sent_by_dead = sent;
    sync_phase(1);
    if (me)
        return;
    queued = 1;
    shi_am_queue(1, &pending);
    CHECK(!shi_am_loses(1));
    shi_am_lose(1);
    for (int polls = 0; !shi_am_is_lost(1) && polls < 10000; polls++)
        source.poll();
    CHECKF(losses == 1 && sent == EACH, "%d losses, %d messages are sent", losses, sent);
    for (int i = 0; i < 2000; i++) {
        size_t bytes = i % 3 ? 8 : SHI_AM_MAX_BYTES;
        void *room = shi_am_begin(1, SHI_AM_TAG, bytes);
        CHECKF(room, "message %d to a lost PE is refused", i);
        if (room)
            shi_am_end(1, bytes);
    }
}

/* Catches: messages of a dead PE that are lost, or handed over after the functions for its loss; a queue to it that stays; a refusal. */
static void lost(void)
{
    as_pes(2, loss);
}

int main(void)
{
    RUN(lost, "a PE that has died: what has come is handed over, what is sent is dropped");
    return tap_end();
}
