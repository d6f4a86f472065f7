/* admit.c - length, version, job, tag: see admit.h. */
#include "host/net/stream/admit.h"

#include "host/net/stream/lane.h"
#include "host/util/log.h"

enum reason { NO_MESSAGE, OTHER_VERSION, OTHER_JOB, WRONG_TAG, AGAIN, REASONS };

static uint64_t dropped, reported;
static unsigned seen; /* a bit for each reason */

/* Count; 1: it is the first one for this reason. */
static int drop(enum reason why)
{
    int first = !(seen >> why & 1);
    seen |= 1U << why;
    __atomic_store_n(&dropped, dropped + 1, __ATOMIC_RELAXED);
    reported += (uint64_t)first;
    return first;
}

/* Which process with the sender's number sends now; 0 is the first one. */
static unsigned life_of(const struct head *h)
{
    return h->pe < (uint32_t)shi_stream_net.n_pes ? shi_stream_net.peer_rx[h->pe].life : 0;
}

static int is_right(const struct head *h, unsigned life)
{
    return h->tag == message_tag(h, life, shi_stream_net.me);
}

/* Is the message from an earlier process with the sender's number, which has died? Such a message may be under way for long. */
static int is_late(const struct head *h)
{
    for (unsigned life = life_of(h); life > 0;)
        if (is_right(h, --life))
            return 1;
    return 0;
}

int shi_admit(const void *msg, size_t bytes)
{
    const struct head *h = msg;
    if (bytes < sizeof *h || bytes % 8 || (h->version == WIRE_VERSION && h->bytes != bytes)) {
        if (drop(NO_MESSAGE))
            shi_log_error("network: dropped %zu bytes that are no message of this library", bytes);
    } else if (h->version != WIRE_VERSION) {
        if (drop(OTHER_VERSION))
            shi_log_error("network: dropped a message of another version of the library (wire version %d, here %d)",
                          h->version, WIRE_VERSION);
    } else if (h->job != shi_auth_job()) {
        if (drop(OTHER_JOB))
            shi_log_error("network: dropped a message of another job (id %08x, this job is %08x)", h->job, shi_auth_job());
    } else if (!is_right(h, life_of(h))) {
        if (!is_late(h) && drop(WRONG_TAG))
            shi_log_error("network: dropped a message whose tag is wrong: it claims to be of PE %u, but does not come from "
                          "this job, or was changed", h->pe);
    } else {
        return 1;
    }
    return 0;
}

void shi_admit_again(const struct head *h)
{
    if (drop(AGAIN))
        shi_log_error("network: dropped a message of PE %u that has come before (number %lu)", h->pe,
                      (unsigned long)h->seq);
}

uint64_t shi_admit_dropped(void)
{
    return __atomic_load_n(&dropped, __ATOMIC_RELAXED);
}

void shi_admit_report(void)
{
    if (dropped > reported)
        shi_log_error("network: dropped %lu messages in all that were not of this job, or had come before",
                      (unsigned long)dropped);
    reported = dropped;
}

void shi_admit_leave(void)
{
    dropped = reported = 0;
    seen = 0;
}
