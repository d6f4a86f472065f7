/*
 * tag.h - tagged messages: requests, and what the parts of the protocol share: tag_out.c, tag_send.c, tag_payload.c,
 * tag_claim.c, tag_recv.c, and below them tag_base.c.
 *
 * Flow control: a message of at most the eager limit is sent with its header and uses the receiver's memory until it is
 * matched; for these every sender has a window at every receiver, returned by CREDIT. For a longer message, or one that finds
 * the window closed, only the header is sent; a limited number of headers may be unmatched, and beyond it the sender keeps
 * its messages, in order. A receive that matches no arrived message claims one that a sender keeps (tag_claim.c).
 *
 *   word                       written by                    read by         order
 *   request.done               the thread that completes it; its owner       R1 -> A1 the result is complete; after that only
 *                              its owner, to cancel a send                   the owner accesses a request. See tag_send.c
 *   request.kept, .finished,   handlers and retries          the same        one at a time; start: before the request is sent
 *   .asked, .matched, .parked
 *   up                         the first call                all             R2 -> A2 the tables are complete
 *   peer.header_window         the first use of the entry    all             R3 -> A3 the windows are set
 *   posted, arrived, .posted,  under lock                    under lock      spin.h
 *   .claimed, peer.credit_due, dead,
 *   full, peer.held to .again
 *   peer.used, .headers        sender with the PE's room     senders         relaxed; see has_window in tag_out.c
 *   peer.returned, .matched    handlers                      senders         relaxed: windows may seem smaller, never larger
 *   peer.pending and its       under peer.lock               the same        spin.h; `offered` and removals: in handlers only
 *   fields, peer.awaited
 *   peer.waits                 under peer.lock               senders         relaxed: a thread sees its own messages wait
 *   peer.claim                 thread that set peer.open     the same        under lock
 *   peer.flows                 handlers                      handlers        one at a time
 *   request.queued             its owner sets bits, retries  its owner       R4 -> A4 no retry uses the request
 *                              clear them
 *   request.awaits             handlers; its owner, to fetch its owner       R5 -> A5 only messages of the sender complete the receive
 */
#ifndef SHI_TAG_H
#define SHI_TAG_H

#include <errno.h>
#include <shmemx_tag.h>

#include "host/coll/team.h"
#include "host/net/am/am.h"
#include "host/ops/dheap.h"
#include "host/tag/match.h"
#include "host/tag/tag_wire.h"
#include "host/util/kept.h"
#include "host/util/spin.h"

/* One buffer or many. */
struct shi_tag_data {
    shmemx_tag_iov_t one;
    const shmemx_tag_iov_t *iov; /* NULL: one */
    int n;
    size_t bytes; /* of all */
};

/* A message whose parts are still arriving: into a request, or into an unexpected message. */
struct shi_tag_flow {
    struct shi_tag_flow *next;
    uint32_t id;
    struct shmemx_tag_request *recv; /* or NULL */
    struct shmemx_tag_message *to;
    size_t total, got;
};

/* CANCELLING: a cancel of a send is under way, which decides how the send completes. Bit 0: complete. */
enum { SHI_TAG_OPEN = 0, SHI_TAG_DONE = 1, SHI_TAG_CANCELLING = 2, SHI_TAG_CANCELLED = 3, SHI_TAG_FAILED = 5 };

struct shi_tag_persistent; /* host/api/tag_request.c */

struct shmemx_tag_request {
    struct shi_match_entry entry; /* of a receive that is posted, of a send that is kept; a send's key is set in any case */
    int done;                     /* SHI_TAG_OPEN... */
    int owned;                    /* its owner has not returned it to the pool; accessed by its owner only */
    int is_send, pe;              /* world PE: the receiver, or the sender; before a match it may be SHI_MATCH_ANY */
    int posted;                   /* a receive that is unmatched */
    struct shi_tag_data data;
    shmemx_tag_status_t status;
    uint64_t send;                /* of a receive: the send request for FIN, or 0 */
    struct shmemx_tag_request *next; /* of the free, or of the released */
    struct shi_tag_persistent *persistent; /* NULL: the request ends on completion */
    /* send */
    uint32_t id;
    int sync, started;            /* started: parts of it are sent */
    size_t at, end;               /* [at, end) is still to be sent */
    uint64_t recv;                /* the receive that gets the payload; of an offered send: the query's seq */
    int headed;                   /* its header counts in peer.headers */
    int exposed;
    uint8_t kept;                 /* it is in peer.pending */
    uint8_t matched;              /* the receiver has taken it, which its CLEAR or TAKEN says */
    uint8_t finished;             /* complete, but for the cancel that is under way */
    uint8_t asked;                /* CANCEL is sent, its answer has not arrived */
    uint8_t parked;               /* the cancel waits for the answer to the offer */
    uint8_t queued;               /* SHI_TAG_..._QUEUED: what its owner has queued at active messages */
    struct shi_am_pending_send cancel;
    struct shi_am_src src;        /* of a receive: the memory that it fetches */
    /* receive */
    uint8_t awaits;               /* it is matched, and waits for parts */
    struct shi_tag_flow flow;
    struct shi_am_pending_send pending_send;
    struct shi_am_fetch fetch;
};

/* An unexpected message: it arrived before a matching receive was posted. */
struct shmemx_tag_message {
    struct shi_match_entry entry;
    int pe;
    uint8_t kind;       /* enum shi_tag_kind */
    uint8_t whole;      /* all parts have arrived */
    uint8_t held;       /* a header that counts in peer.held */
    size_t total;
    size_t cost;        /* of the sender's window, 0 for a header */
    uint64_t send;      /* the send request for FIN, or 0 */
    struct shmemx_tag_request *claimed; /* the receive that waits for the parts */
    union {
        struct shi_am_src src;    /* of a header; bytes 0: this PE cannot read that memory */
        struct shi_tag_flow flow; /* of an EAGER_LONG */
    };
    _Alignas(8) char payload[];
};

/* Sends to a PE that wait for a free message slot or a window, in the order of sending. */
struct shi_tag_pending {
    struct shi_match kept;
    struct shmemx_tag_request *offered; /* one of them: it and those behind it wait until the receiver has answered */
    struct shi_am_pending_send pending_send;
    int pe, queued;                     /* queued: pending_send is */
};

/* What a receive or a probe accepts. */
struct shi_tag_params {
    struct shi_match_key key;
    int pe; /* world PE of the source, or SHI_MATCH_ANY */
};

/* The state between this PE and another. */
struct shi_tag_peer {
    uint8_t lock;
    uint8_t waits;                      /* pending is not empty */
    uint8_t awaited;                    /* send NEWS to the receiver when a message is kept */
    uint8_t open, probing, probed;      /* a claim is unanswered; it is a probe's; the last answered one was a probe's */
    uint8_t again;                      /* NEWS has arrived: claim for all receives once more */
    uint32_t next_id, held;             /* held: its headers here that no receive has taken */
    size_t window;                      /* bytes: unexpected memory there for us */
    uint32_t eager, eager_symmetric;    /* the longest eager message; the same from symmetric memory */
    uint64_t header_window;             /* 0: the PE has not been met */
    uint64_t used, headers;             /* bytes and headers that this PE has sent */
    uint64_t returned, matched;         /* those of them that the receiver has freed */
    uint64_t credit_due;                /* bytes freed of its window here, CREDIT not yet sent */
    struct shi_tag_pending *pending;        /* allocated when a send first waits */
    struct shi_tag_flow *flows;
    uint64_t next_claim, last;          /* the next receive to claim for; the last one of the open claim */
    struct shi_am_pending_send claim;
} __attribute__((aligned(SHI_LINE_BYTES)));
_Static_assert(sizeof(struct shi_tag_peer) == 2 * SHI_LINE_BYTES, "two cache lines for every PE of the job");

extern struct shi_tag {
    uint8_t lock;
    int up;
    int full;                  /* number of PEs whose headers here fill their window: they may keep messages */
    struct shi_match posted, arrived;
    struct shi_tag_peer *peer; /* [n_pes] by world PE */
} shi_tag;

/* Memory of unexpected messages, and of notes that wait for a message slot. */
extern struct shi_kept shi_tag_kept;

/* PE pe's entry, filled in at its first use. */
struct shi_tag_peer *shi_tag_meet(int pe);
static inline struct shi_tag_peer *shi_tag_peer_of(int pe)
{
    struct shi_tag_peer *p = &shi_tag.peer[pe];
    return shi_likely(__atomic_load_n(&p->header_window, __ATOMIC_ACQUIRE)) ? p : shi_tag_meet(pe); /* A3 */
}

/* ---- for the entry points ---------------------------------------------------------------------------------------- */

/* In every init: handle messages and the end of teams. The tables are made at the first call. 0. */
int shi_tag_prepare(void);

/* Get ready on this PE; dies when it cannot, or the library is not up. */
void shi_tag_start_slow(const char *routine);
static inline void shi_tag_start(const char *routine)
{
    if (shi_unlikely(!__atomic_load_n(&shi_tag.up, __ATOMIC_ACQUIRE))) /* A2 */
        shi_tag_start_slow(routine);
}

/* Free all messages that were not received. Progress has stopped. */
void shi_tag_down(void);

/* The process leaves the job: no request of it is valid any more. */
void shi_tag_leave(void);

/* A team has ended: discard its messages that were not received. */
void shi_tag_forget(const struct shmem_team *t);

/* Send without a request: 1 when the message is sent, 0 when it needs a request, and nothing was done. */
int shi_tag_send_now(const struct shmem_team *t, const struct shi_tag_data *data, uint64_t tag, int pe);

/* Fill in and start the request. The caller keeps r until it is done. */
void shi_tag_send(struct shmemx_tag_request *r, const struct shmem_team *t, const struct shi_tag_data *data, uint64_t tag,
                  int pe, int sync);
void shi_tag_recv(struct shmemx_tag_request *r, const struct shi_tag_params *params, const struct shi_tag_data *data);
void shi_tag_recv_message(struct shmemx_tag_request *r, struct shmemx_tag_message *m, const struct shi_tag_data *data);

/* 1: there is a message that matches, and *status describes the earliest; with `taken` it is moved to *taken. */
int shi_tag_probe(const struct shi_tag_params *params, struct shmemx_tag_message **taken, shmemx_tag_status_t *status);

/* The same without waiting, for the one caller whose s this is: -EAGAIN: call again, with the same params at the same place,
 * after progress; other probes may wait for the end of this one. */
struct shi_tag_search {
    int begun; /* 0 before the first call */
    int pe;    /* the sender that is asked for what it keeps */
};
int shi_tag_probe_step(struct shi_tag_search *s, const struct shi_tag_params *params, shmemx_tag_status_t *status);

/* Cancel a receive that nothing has matched. */
void shi_tag_cancel(struct shmemx_tag_request *r);

/* The same of a send that is not complete: it completes now or later, as SHI_TAG_CANCELLED if nothing has matched it. */
void shi_tag_cancel_send(struct shmemx_tag_request *r);

/* Take a request from the pool, and put it back. Dies without memory. */
struct shmemx_tag_request *shi_tag_request_get(const char *routine);
void shi_tag_request_put(struct shmemx_tag_request *r);

/* Put it back once it is done, which it need not be yet. */
void shi_tag_request_release(struct shmemx_tag_request *r);

/* Of shi_tag_leave. */
void shi_tag_requests_leave(void);
void shi_tag_recv_leave(void);

/* Some PE has died, or a team is revoked: complete the request if nothing else will. 1: it is complete. For its owner. A variable, as
 * shi_tag_end_failed, to which shi_tag_prepare sets it, calls all parts. */
extern int (*shi_tag_has_failed)(struct shmemx_tag_request *r);
int shi_tag_end_failed(struct shmemx_tag_request *r);

static inline int shi_tag_is_done(struct shmemx_tag_request *r)
{
    if (shi_likely(__atomic_load_n(&r->done, __ATOMIC_ACQUIRE) & SHI_TAG_DONE)) /* A1 */
        return 1;
    return shi_team_faults_now() && shi_tag_has_failed(r);
}

/* Of a complete request: 0 or SHMEMX_ERR_. */
static inline int shi_tag_failed(const struct shmemx_tag_request *r)
{
    return shi_likely(r->done == SHI_TAG_DONE) ? 0 : r->status.failed;
}

/* Why no message will match: SHMEMX_ERR_ or 0. */
int shi_tag_why_none(const struct shi_tag_params *params);

/* In progress: PE pe has died. Later: another process has its number, and all requests with the dead one are complete. */
void shi_tag_on_loss(int pe);
void shi_tag_on_return(int pe);

/* ---- between the parts ------------------------------------------------------------------------------------------- */

/* The result is in r: complete it for its owner. */
static inline void shi_tag_complete(struct shmemx_tag_request *r)
{
    __atomic_store_n(&r->done, SHI_TAG_DONE, __ATOMIC_RELEASE); /* R1 */
}

enum { SHI_TAG_REST_QUEUED = 1, SHI_TAG_CANCEL_QUEUED = 2 };
static inline void shi_tag_queued(struct shmemx_tag_request *r, uint8_t what)
{
    __atomic_fetch_or(&r->queued, what, __ATOMIC_RELAXED);
}

static inline void shi_tag_unqueue(struct shmemx_tag_request *r, uint8_t what)
{
    __atomic_fetch_and(&r->queued, (uint8_t)~what, __ATOMIC_RELEASE); /* R4 */
}

/* 1: device memory of the program, hidden from the host and the network: no PE reads or writes it but its own, by copies of the device. */
static inline int shi_tag_is_added(const void *addr, size_t bytes)
{
    return shi_dheap_hides(addr, bytes) && !shi_dheap_holds(addr, bytes);
}

/* The contiguous piece at `at`: its address, and its length at most. */
void *shi_tag_piece(const struct shi_tag_data *d, size_t at, size_t *bytes);

/* Copy [at, + bytes) of a message out of its buffers, or into them as far as they reach. */
void shi_tag_gather_pieces(const struct shi_tag_data *d, size_t at, void *to, size_t bytes);
void shi_tag_scatter_pieces(const struct shi_tag_data *d, size_t at, const void *from, size_t bytes);

static inline void shi_tag_gather(const struct shi_tag_data *d, size_t at, void *to, size_t bytes)
{
    if (shi_likely(!d->iov && bytes))
        shi_dheap_memcpy(to, (const char *)d->one.base + at, bytes);
    else
        shi_tag_gather_pieces(d, at, to, bytes);
}

static inline void shi_tag_scatter(const struct shi_tag_data *d, size_t at, const void *from, size_t bytes)
{
    if (at >= d->bytes)
        return;
    bytes = bytes < d->bytes - at ? bytes : d->bytes - at;
    if (shi_likely(!d->iov))
        shi_dheap_memcpy((char *)d->one.base + at, from, bytes);
    else
        shi_tag_scatter_pieces(d, at, from, bytes);
}

/* Send a note, now or as soon as a message slot is free. */
void shi_tag_notify(int pe, const struct shi_tag_note *note);

/* Bytes of the receiver's window that an eager message uses. */
static inline size_t shi_tag_cost(size_t bytes)
{
    return bytes + sizeof(struct shmemx_tag_message);
}

/* ---- tag_out.c: one message ---------------------------------------------------------------------------------------- */

/* The state of a send. ANSWERED: FIN or CLEAR completes it, perhaps at once on another thread, so r must not be accessed any
 * more; except in a retry, during which no handler runs. NO_WINDOW: the receiver's limit of headers is reached. */
enum { SHI_TAG_GONE, SHI_TAG_ANSWERED, SHI_TAG_NO_WINDOW = -ENOBUFS };

/* Send the message, or its header. One of these, or -EAGAIN. */
int shi_tag_out(struct shmemx_tag_request *r, struct shi_tag_peer *p);

/* Send the remaining parts: a retry; or queue it. */
int shi_tag_out_rest(struct shi_am_pending_send *pending_send);
void shi_tag_queue_rest(struct shmemx_tag_request *r);

/* The header of a message, which exposes its memory to the receiver; take that back. */
struct shi_tag_rts shi_tag_rts_of(struct shmemx_tag_request *r, enum shi_tag_kind kind);
void shi_tag_withdraw(struct shmemx_tag_request *r);

/* The send is complete. If a cancel is under way, its end tells the owner. */
void shi_tag_finish(struct shmemx_tag_request *r);

/* Counters of a peer change between shi_am_begin and end, where one thread is at a time, so a plain addition is enough;
 * others read them. */
static inline void shi_tag_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t shi_tag_unreturned(const uint64_t *given, const uint64_t *back)
{
    return __atomic_load_n(given, __ATOMIC_RELAXED) - __atomic_load_n(back, __ATOMIC_RELAXED);
}

/* ---- handlers ------------------------------------------------------------------------------------------------------ */

/* Handlers of tag_send.c. */
void shi_tag_on_fin(int pe, const struct shi_tag_note *note);
void shi_tag_on_clear(int pe, const struct shi_tag_note *note);
void shi_tag_on_credit(int pe, const struct shi_tag_note *note);
void shi_tag_on_claim(int pe, const struct shi_tag_claim *claim);
void shi_tag_on_taken(int pe, const struct shi_tag_note *note);
void shi_tag_on_refused(int pe, const struct shi_tag_note *note);
void shi_tag_on_cancel_ack(int pe, const struct shi_tag_note *note);

/* Under the lock: 1: it was posted, and is no more. */
int shi_tag_unpost(struct shmemx_tag_request *r);

/* Handlers of tag_recv.c and tag_payload.c; bytes: of the whole active message. */
void shi_tag_on_head(int pe, const void *msg, size_t bytes);
void shi_tag_on_cancel(int pe, const struct shi_tag_note *note);
void shi_tag_on_part(int pe, const struct shi_tag_part *part, size_t bytes);

/* ---- tag_payload.c ------------------------------------------------------------------------------------------------- */

/* The receive of messages that are to be discarded. */
extern struct shmemx_tag_request shi_tag_discard;

/* The message has matched r, or was discarded: complete its synchronous send. */
void shi_tag_send_fin(int pe, uint64_t send);

static inline void shi_tag_set_match(struct shmemx_tag_request *r, int pe, const struct shi_match_key *k, size_t total)
{
    r->pe = pe;
    r->status = (shmemx_tag_status_t){.tag = k->tag, .bytes = total, .source = k->source,
                                      .truncated = total > r->data.bytes};
}

/* The payload is in r's buffers. */
static inline void shi_tag_received(struct shmemx_tag_request *r)
{
    if (shi_unlikely(r->send))
        shi_tag_send_fin(r->pe, r->send);
    shi_tag_complete(r);
}

/* A header has matched r: fetch the payload, or request it. */
void shi_tag_receive_header(struct shmemx_tag_request *r, uint64_t send, const struct shi_am_src *src);

/* `got` bytes of PE pe's message id have arrived, its parts follow; f->recv or f->to is set. */
void shi_tag_begin_flow(struct shi_tag_flow *f, int pe, uint32_t id, size_t total, size_t got);

/* All parts of an unexpected message have arrived: deliver it to r, which has claimed it. */
void shi_tag_deliver(struct shmemx_tag_request *r, struct shmemx_tag_message *m);

/* A new unexpected message: of a header (rts), or else with room for the payload, which the caller fills in. NULL without
 * memory. */
struct shmemx_tag_message *shi_tag_new_message(int pe, const struct shi_tag_head *h, size_t total, uint64_t send,
                                               const struct shi_tag_rts *rts);

/* Free an unexpected message that is in no list, or NULL. */
void shi_tag_free_message(struct shmemx_tag_message *m);

/* A header has matched r, which is not posted any more. */
void shi_tag_accept_header(struct shmemx_tag_request *r, int pe, const struct shi_tag_rts *rts);

/* Make an unexpected message of a header; it is in no list. NULL without memory. */
struct shmemx_tag_message *shi_tag_message_of(int pe, const struct shi_tag_rts *rts);

static inline struct shi_match_key shi_tag_key_of(const struct shi_tag_head *h)
{
    return (struct shi_match_key){.tag = h->tag, .mask = ~0ull, .team = h->team, .source = h->source};
}

/* ---- tag_claim.c: receives find what senders keep ---------------------------------------------------------------- */

/* The PE's headers here fill its window: it may keep messages, and sends none before one of these is matched. */
static inline int shi_tag_is_full(const struct shi_tag_peer *p)
{
    return p->header_window && p->held >= p->header_window;
}

/* Send a claim to PE pe, or to every PE (SHI_MATCH_ANY), where it is full, no claim is open, and a posted receive accepts
 * its messages. Not under a lock. */
void shi_tag_claim(int pe);

/* In progress: the PE has died, and answers none. */
void shi_tag_forget_claims(int pe);

/* As shi_tag_probe, among the messages that senders keep. Waits for their answers, which their progress engines send. */
int shi_tag_probe_kept(const struct shi_tag_params *params, struct shmemx_tag_message **taken,
                      shmemx_tag_status_t *status);

/* The same without waiting: -EAGAIN as in shi_tag_probe_step. */
int shi_tag_search(struct shi_tag_search *s, const struct shi_tag_params *params, struct shmemx_tag_message **taken,
                   shmemx_tag_status_t *status);

void shi_tag_on_offer(int pe, const struct shi_tag_offer *offer);
void shi_tag_on_none(int pe);
void shi_tag_on_news(int pe);

#endif
