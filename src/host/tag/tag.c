/* tag.c - tagged messages as a whole: check and hand over what arrives, start and end. */
#include "host/tag/tag.h"

#include <stdlib.h>

#include "host/util/table.h"

static const char *check_head(const struct shi_tag_head *h)
{
    return (uint32_t)h->source < (uint32_t)shi_world.n_pes ? NULL : "a tagged message from no PE of the team";
}

static const char *check_rts(const struct shi_tag_rts *rts)
{
    const struct shi_tag_long_head *h = &rts->head;
    if (h->total > PTRDIFF_MAX || !h->send || (rts->src.bytes && rts->src.bytes != h->total))
        return "an invalid header of a tagged message";
    return check_head(&h->head);
}

/* What is invalid in a message, whatever the state of this PE; NULL: nothing. */
static const char *check(const void *msg, size_t bytes)
{
    static const char *const length = "a tagged message of invalid length";
    const struct shi_tag_long_head *h = msg;
    const struct shi_tag_claim *c = msg;
    switch (*(const uint8_t *)msg) {
    case SHI_TAG_EAGER: return bytes < sizeof h->head ? length : check_head(&h->head);
    case SHI_TAG_EAGER_SYNC: return bytes < sizeof *h ? length : check_head(&h->head);
    case SHI_TAG_EAGER_LONG:
        return bytes < sizeof *h || h->total <= bytes - sizeof *h || h->total > PTRDIFF_MAX / 2 ? length
                                                                                              : check_head(&h->head);
    case SHI_TAG_READY: return bytes != sizeof(struct shi_tag_rts) ? length : check_rts(msg);
    case SHI_TAG_OFFER: return bytes != sizeof(struct shi_tag_offer) ? length : check_rts(msg);
    case SHI_TAG_PART: return bytes <= sizeof(struct shi_tag_part) ? length : NULL;
    case SHI_TAG_CLAIM:
        return bytes <= offsetof(struct shi_tag_claim, query) || !c->n || c->n > SHI_TAG_QUERIES ||
                       bytes != offsetof(struct shi_tag_claim, query) + c->n * sizeof *c->query ? length : NULL;
    case SHI_TAG_FIN: case SHI_TAG_CLEAR: case SHI_TAG_CREDIT: case SHI_TAG_NONE: case SHI_TAG_TAKEN: case SHI_TAG_REFUSED:
    case SHI_TAG_NEWS: case SHI_TAG_CANCEL: case SHI_TAG_CANCEL_ACK:
        return bytes != sizeof(struct shi_tag_note) ? length : NULL;
    default: return "a tagged message of unknown kind";
    }
}

static void on_message(int pe, const void *msg, size_t bytes)
{
    shi_tag_start("a message of another PE"); /* it may arrive before this PE's first call */
    const char *invalid = check(msg, bytes);
    if (shi_unlikely(invalid != NULL))
        shi_am_refuse(pe, invalid);
    switch (*(const uint8_t *)msg) {
    case SHI_TAG_PART: shi_tag_on_part(pe, msg, bytes); break;
    case SHI_TAG_FIN: shi_tag_on_fin(pe, msg); break;
    case SHI_TAG_CLEAR: shi_tag_on_clear(pe, msg); break;
    case SHI_TAG_CREDIT: shi_tag_on_credit(pe, msg); break;
    case SHI_TAG_CLAIM: shi_tag_on_claim(pe, msg); break;
    case SHI_TAG_OFFER: shi_tag_on_offer(pe, msg); break;
    case SHI_TAG_NONE: shi_tag_on_none(pe); break;
    case SHI_TAG_TAKEN: shi_tag_on_taken(pe, msg); break;
    case SHI_TAG_REFUSED: shi_tag_on_refused(pe, msg); break;
    case SHI_TAG_NEWS: shi_tag_on_news(pe); break;
    case SHI_TAG_CANCEL: shi_tag_on_cancel(pe, msg); break;
    case SHI_TAG_CANCEL_ACK: shi_tag_on_cancel_ack(pe, msg); break;
    default: shi_tag_on_head(pe, msg, bytes);
    }
}

int shi_tag_prepare(void)
{
    static const struct shi_team_hooks hooks = {.ended = shi_tag_forget};
    shi_am_handle(SHI_AM_TAG, on_message);
    shi_am_on_loss(SHI_AM_TAG, shi_tag_on_loss);
    shi_am_on_return(SHI_AM_TAG, shi_tag_on_return);
    shi_tag_has_failed = shi_tag_end_failed;
    shi_team_on_change(&hooks);
    return 0;
}

void shi_tag_down(void)
{
    if (!shi_tag.up)
        return;
    shi_tag.up = 0;
    while (shi_tag.arrived.first) {
        struct shmemx_tag_message *m = (struct shmemx_tag_message *)shi_tag.arrived.first;
        shi_match_remove(&shi_tag.arrived, &m->entry);
        shi_tag_free_message(m);
    }
    shi_kept_clear(&shi_tag_kept);
    shi_match_down(&shi_tag.arrived);
    shi_match_down(&shi_tag.posted);
    for (int i = 0; i < shi_world.n_pes; i++)
        if (shi_tag.peer[i].pending) {
            shi_match_down(&shi_tag.peer[i].pending->kept);
            free(shi_tag.peer[i].pending);
        }
    shi_table_free(shi_tag.peer, (size_t)shi_world.n_pes, sizeof *shi_tag.peer);
    shi_tag.peer = NULL;
    shi_tag.full = 0;
}

void shi_tag_leave(void)
{
    shi_tag_requests_leave();
    shi_tag_recv_leave();
    shi_tag_has_failed = NULL;
    memset(&shi_tag, 0, sizeof shi_tag);
}
