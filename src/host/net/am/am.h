/*
 * am.h - active messages: a few bytes to a PE, which hands them to a handler as it makes progress.
 *
 * Messages from one PE to another arrive once and in the order of sending, whatever their ids. Stores and puts on the
 * default context before a message are complete at the target when the handler runs, if a fence stands between.
 * Nothing here waits or retries: a message that cannot be sent now is refused and nothing of it is kept (like the short
 * sends of a transport, see net.h). On one node messages travel through shared memory, between nodes through the
 * network's stream.
 *
 * Handlers run inside shi_progress_poll, on any thread that calls it, one at a time. They may send (and queue a message that
 * is refused), fetch and expose; they may not wait, nor call shi_progress_poll. Retries and callbacks of fetches run there
 * too, one at a time with the handlers.
 */
#ifndef SHI_AM_H
#define SHI_AM_H

#include "host/net/am/am_carrier.h"

/* msg is 8-byte aligned and valid until the handler returns. A handler checks lengths, indices and kinds before it uses them.
 * Answers of PEs of the job contain pointers to this PE's objects, which it trusts. */
typedef void shi_am_handler(int pe, const void *msg, size_t bytes);

/* PE pe has sent something invalid: end the job with a line. */
void shi_am_refuse(int pe, const char *what) __attribute__((__noreturn__));

/* Set the handler of an id: in every PE's init, after shi_am_up. Costs nothing until shi_am_start. */
void shi_am_handle(enum shi_am_id id, shi_am_handler *handler);

/* From now on this PE polls for messages and may send; messages that came earlier have waited. Further calls do nothing.
 * Every layer calls it before its first use of what follows, and at the latest before it waits for messages, so that
 * programs without messages have neither thread nor tables. 0, or -errno after one logged line. Any thread. */
int shi_am_start(void);

/* The lengths of messages to PE pe; the longest one: SHI_AM_MAX_BYTES or more. */
const struct shi_message_lengths *shi_am_lengths(int pe);

/* Room for a message of at most so many bytes, 8-byte aligned, or NULL: no slot is free, or earlier sends wait for
 * one. shi_am_end on the same thread sends it; make no other am call in between. `bytes` of the end may be less than
 * was asked for. World PE numbers; a PE may send to itself. */
void *shi_am_begin(int pe, enum shi_am_id id, size_t bytes);
void shi_am_end(int pe, size_t bytes);

/* Messages of at most so many bytes travel in one cache line on a node, with the least latency. */
enum { SHI_AM_SHORT_BYTES = 56 };

/*
 * Pending sends. A send that was refused may be queued: retry is called from shi_progress_poll once there may be room, in
 * the order of queueing for each PE, round robin over PEs. It returns 0 when it has sent everything, and then belongs to
 * its owner again (it may be freed inside retry); -EAGAIN keeps its place at the head. While a PE's queue is not empty,
 * shi_am_begin for that PE refuses all callers but the retry that is running.
 */
struct shi_am_pending_send {
    struct shi_am_pending_send *next;
    int (*retry)(struct shi_am_pending_send *self);
};
void shi_am_queue(int pe, struct shi_am_pending_send *pending_send);

/*
 * Rendezvous: memory of this PE (symmetric, device heap, or private) that PE pe may read until it is withdrawn. The
 * description travels inside a message. -EOPNOTSUPP: that PE cannot read this memory, the data must be sent.
 */
int shi_am_expose(int pe, const void *addr, size_t bytes, struct shi_am_src *out);
void shi_am_withdraw(int pe, const struct shi_am_src *src);

/* Read [off, + bytes) of what PE pe exposed. 0: done; -EINPROGRESS: done is called once, from shi_progress_poll;
 * -EAGAIN: try again later, nothing was started; another -errno: it failed. `f` is embedded in the caller's request.
 * `to` may be any memory of this PE, its device heap too. bytes: at most shi_am_fetch_bytes(pe). */
int shi_am_fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f);
size_t shi_am_fetch_bytes(int pe);

/* ---- PEs that die, where the job goes on (host/survive) ------------------------------------------------------------- */

/*
 * PE pe has died. Polls hand over what has come from it and drop all that is sent to it, also what is queued; then they call the functions of
 * shi_am_on_loss, as handlers, and then shi_am_is_lost is 1. Any thread, once, after shi_am_start.
 */
void shi_am_lose(int pe);
int shi_am_is_lost(int pe);
int shi_am_loses(int pe); /* 1 before these functions are called: no message of it comes any more. With seq_cst */

/* PE pe, which is lost, is another process now: messages between both begin anew, for which the functions of shi_am_on_return forget what was. Before that process
 * sends; no other thread sends to the PE meanwhile. */
void shi_am_return(int pe);
void shi_am_on_return(enum shi_am_id id, void (*returned)(int pe));

/* In every init, after shi_am_up. */
void shi_am_on_loss(enum shi_am_id id, void (*lost)(int pe));

/* ---- set up ------------------------------------------------------------------------------------------------------- */

/* Remember the world and the carrier between PEs of this node; nothing else happens before shi_am_start. */
void shi_am_up(const struct shi_am_world *w, const struct shi_am_carrier *node);

/* The carrier to PEs of other nodes, or, with all, to all other PEs. Before shi_am_start; forgotten by shi_am_down. */
void shi_am_set_remote(const struct shi_am_carrier *carrier, int all);

/* Drop arrived and queued messages. No PE of the node sends any more, and progress has stopped. */
void shi_am_down(void);

/* The process leaves the job: forget the handlers, too. */
void shi_am_leave(void);

/* ---- for carriers ------------------------------------------------------------------------------------------------- */

/* Call the handler. Only from poll. */
void shi_am_deliver(int pe, enum shi_am_id id, const void *msg, size_t bytes);

/* The same from elsewhere, where no earlier message waits. 1, or 0 and nothing done: another thread polls, or shi_am_start
 * has not been called. */
int shi_am_deliver_now(int pe, enum shi_am_id id, const void *msg, size_t bytes);

#endif
