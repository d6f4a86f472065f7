/*
 * gpc_wire.h - the wire format of GPCs. A message longer than an active message is sent in pieces, and the receiver fetches
 * its data where possible.
 *
 * One agent at a time owns each state here: an outgoing message its sender until shi_gpc_send, then progress until it calls
 * `sent`; an incoming one progress until it calls `whole`. See also gpc.c, which checks lengths and ids of what arrives; `token`
 * and `fin` are pointers of the PE that receives them, and are not checked.
 */
#ifndef SHI_GPC_WIRE_H
#define SHI_GPC_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "host/net/am/am.h"
#include "host/util/kept.h"
#include "host/util/limit.h"
#include "host/util/tsan.h"

/* Memory of calls, replies and data: kept for later ones, but malloc's own cache is faster for short ones. shi_gpc_free: the same bytes. */
extern struct shi_kept shi_gpc_kept;
enum { SHI_GPC_MALLOC_KEEPS = 1032 }; /* bytes of the longest block in the cache of glibc's malloc */

static inline void *shi_gpc_malloc(size_t bytes)
{
    void *block = bytes <= SHI_GPC_MALLOC_KEEPS ? malloc(bytes) : shi_kept_get(&shi_gpc_kept, bytes);
    shi_tsan_acquire();
    return block;
}

static inline void shi_gpc_free(void *block, size_t bytes)
{
    shi_tsan_acquire();
    shi_tsan_release();
    if (bytes <= SHI_GPC_MALLOC_KEEPS)
        free(block);
    else
        shi_kept_put(&shi_gpc_kept, block, bytes);
}

enum { SHI_GPC_START, SHI_GPC_REPLY, SHI_GPC_PIECE, SHI_GPC_FIN };
enum { SHI_GPC_FETCH = 1 }; /* flag: a struct shi_am_src follows, and the data is not in the message */
enum { SHI_GPC_NO_HANDLE = 0xffff }; /* no handle */

/* To a child. Behind it: hdr, ids, below (a program's tree), data. */
struct shi_gpc_start {
    uint8_t kind, flags;
    uint16_t func, callback, tree;
    uint64_t token;        /* the sender's, returned in the reply */
    uint64_t id;
    uint16_t hlen, rhlen;
    uint32_t idlen;
    uint32_t dlen, rdlen;
    uint64_t team;         /* its number */
};

/* To the parent. Behind it: reply header, reply data. */
struct shi_gpc_reply {
    uint8_t kind, flags;
    uint16_t rhsize;
    int32_t status;
    uint64_t token;
    uint32_t rdsize;
    uint32_t failed; /* with a status: the PE of the world that failed; else 0 */
    uint64_t fin; /* FETCH: returned in FIN when the parent has fetched */
};

/* The next bytes of the START or REPLY with this token. */
struct shi_gpc_piece {
    uint8_t kind, of;
    uint8_t pad[6];
    uint64_t token;
};

struct shi_gpc_fin {
    uint8_t kind;
    uint8_t pad[7];
    uint64_t fin;
};

union shi_gpc_head {
    uint8_t kind;
    struct shi_gpc_start start;
    struct shi_gpc_reply reply;
    struct shi_gpc_piece piece;
    struct shi_gpc_fin fin;
};
_Static_assert(sizeof(struct shi_gpc_start) == 48 && offsetof(struct shi_gpc_start, team) == 40, "wire format");
_Static_assert(sizeof(struct shi_gpc_reply) == 32 && offsetof(struct shi_gpc_reply, fin) == 24, "wire format");
_Static_assert(sizeof(struct shi_gpc_piece) == 16 && sizeof(struct shi_gpc_fin) == 16, "wire format");

/* ---- scattered bytes --------------------------------------------------------------------------------------------- */

/* A cursor over bytes in several places, sent one after the other. */
struct shi_gpc_iov {
    struct {
        char *at; /* NULL: incoming bytes are discarded */
        size_t bytes;
    } part[4];
    int n, now;   /* parts; the current one */
    size_t left;
};

void shi_gpc_iov_add(struct shi_gpc_iov *r, const void *at, size_t bytes);

/* ---- sending ----------------------------------------------------------------------------------------------------- */

struct shi_gpc_out {
    struct shi_am_pending_send pending_send;
    int pe;                   /* of the world */
    union shi_gpc_head head;
    struct shi_am_src src;    /* flag FETCH */
    struct shi_gpc_iov iov;
    void (*sent)(struct shi_gpc_out *self); /* called after the last byte; may free it; may be NULL */
};

/* Add data as the last part; or, when the message would exceed an active message, expose it for PE pe to fetch.
 * 1: exposed; call shi_gpc_withdraw when it has been fetched. */
int shi_gpc_out_data(struct shi_gpc_out *o, const void *data, size_t bytes);
void shi_gpc_withdraw(struct shi_gpc_out *o);

/* Send now, or when a message slot is free. */
void shi_gpc_send(struct shi_gpc_out *o);

/* ---- receiving --------------------------------------------------------------------------------------------------- */

struct shi_gpc_in {
    struct shi_gpc_in *next; /* in the list of those in pieces */
    struct shi_am_pending_send pending_send;
    struct shi_am_fetch fetch;
    void *bounce; /* host buffer for the fetch when `data` is device memory that the host cannot access */
    struct shi_am_src src;   /* bytes 0: nothing to fetch */
    void *data;              /* the target of the fetch */
    size_t got, piece;       /* fetched; being fetched */
    struct shi_gpc_iov iov;  /* the rest, as the sender filled it */
    uint64_t token;
    int pe, of, err;
    struct shi_limited fetching; /* of the SHI_GPC_FETCHES; see shi_gpc_fetched */
    void (*whole)(struct shi_gpc_in *self); /* called when complete, or with err */
};

/* A message begins to arrive; pe, of, token, iov, data and whole are set. Its bytes behind the head are at msg. */
void shi_gpc_receive(struct shi_gpc_in *in, uint8_t flags, const void *msg, size_t bytes);
void shi_gpc_receive_piece(int pe, const struct shi_gpc_piece *p, size_t bytes);

/* PE pe has died: messages that have come from it in part are whole, with an error. */
void shi_gpc_forget_pieces(int pe);

/* The fetched data has been used: another message may be fetched. No effect if none was. */
void shi_gpc_fetched(struct shi_gpc_in *in);

/* A message has been received. */
void shi_gpc_count_received(void);

/* Where the job goes on when a PE dies: collective over the PEs that live, 1 if all give 1. NULL: the job ends. */
extern int (*shi_gpc_agree)(const char *routine, int mine);

/* Collective over the PEs that live: return when no message is in flight and none can follow. `own` waits until this PE has no GPC. */
void shi_gpc_settle(void (*own)(void));

/* After that: the counts of messages begin again at 0, and unused memory is freed. */
void shi_gpc_wire_stop(void);

#endif
