/*
 * request.h - the arguments of each kind of request: written by the device, read by the proxy.
 *
 *   op                 arg 0     1       2      3               4                5                6
 *   PUT                target    source  bytes
 *   PUT_INLINE         data      data    data   data            data             data             bytes + target
 *   PUT_SIGNAL         target    source  bytes  sig_op + signal value
 *   PUT_SIGNAL_INLINE  data      data    data   data            bytes + target   sig_op + signal  value
 *   GET                target    dest    bytes
 *   GET_INLINE         bytes + target                                                             -> the ticket's result slot
 *   AMO                amo + target  bytes  value  cond         fetch            result           -> see result
 *   GPC                func + hlen + rhlen + result  rhdr  data  data  data  data  data   -> the ticket's result slot, if asked
 *   GPC_CHAINED        the same  rhdr    callback + tree + idlen  ids  data  data  data  -> the ticket's result slot, if asked
 *   TAG                tag       source  bytes
 *   TAG_INLINE         tag       bytes   data   data            data             data             data
 *   TAG_RECV           tag       mask    dest   bytes           sender           result       -> the ticket's result slot, if asked
 *   TAG_TEST           ticket    wait                                                         -> the ticket's result slot
 *   TAG_PROBE          tag       mask                           sender                        -> the ticket's result slot
 *   CLOCK              dest
 *
 * target, signal  distance of the object from the start of this PE's device heap, of 56 bits: its offset in the heap, which is the same on
 *                 every PE, or, below 0 or behind the heap, that of symmetric memory of the program
 * source, dest, fetch, rhdr  an address of the posting device; dest of CLOCK: of the host, or 0. It gets the host's time in ns
 * a + b           a in bits 56-63, b in bits 0-55
 * data            the payload's bytes in order, the first in the low byte of argument 0; unused bytes are 0
 * bytes           of PUT_INLINE at most 48, PUT_SIGNAL_INLINE 32 (0: only the signal), GET_INLINE 8, AMO 4 or 8
 * value, cond     unsigned, in the low bytes; an increment is an addition of 1; of FADD a float or a double
 * result          enum shi_amo_result: where the result of an AMO goes: nowhere, the ticket's result slot, or the address fetch
 * func + ...      of GPC 16 bits each; hlen at most 40, rhlen at most 1024. The result is two words: the status, and the world
 *                 PE that failed, or -1
 * callback + ...  16, 16 and 32 bits, signed; hlen is at most 24. ids: the address of idlen world PEs, or 0: all PEs. The request's
 *                 target is this PE
 * sender          a world PE, or SHI_TAG_ANY
 * ticket, wait    of the TAG_RECV that is to be completed; wait: there is no result before it is complete
 *
 * A TAG_RECV is complete, for fences and quiet, when it is posted: a message may depend on them. Receives, tests and probes
 * name this PE as their target, which keeps them in order. Their result is three words: bytes of the message, tag, and world
 * PE of the sender, or SHI_TAG_ANY when there is no message (TAG_TEST: yet).
 */
#ifndef SHI_REQUEST_H
#define SHI_REQUEST_H

#include "device/lib/ring.h"

enum shi_amo {
    SHI_AMO_FETCH, SHI_AMO_SET, SHI_AMO_SWAP, SHI_AMO_CSWAP, SHI_AMO_ADD, SHI_AMO_AND, SHI_AMO_OR, SHI_AMO_XOR, SHI_AMO_FADD, SHI_AMOS
};
enum { SHI_INLINE_GPC = 40, SHI_INLINE_GPC_CHAINED = 24, SHI_INLINE_TAG = 40 };
#define SHI_TAG_ANY (~(shi_u64)0)
enum shi_amo_result { SHI_RESULT_NONE, SHI_RESULT_SLOT, SHI_RESULT_ADDRESS, SHI_RESULTS };

/* ---- device ----------------------------------------------------------------------------------------------------- */

SHI_FN shi_u64 shi_request_pair(shi_u64 high, shi_u64 low)
{
    return high << 56 | low;
}

SHI_FN void shi_request_put(struct shi_request *q, shi_u64 target, shi_u64 source, shi_u64 bytes)
{
    q->op = SHI_OP_PUT;
    q->arg[0] = target;
    q->arg[1] = source;
    q->arg[2] = bytes;
    q->arg[3] = q->arg[4] = q->arg[5] = q->arg[6] = 0;
}

/* The payload is arg 0 to 5. */
SHI_FN void shi_request_put_inline(struct shi_request *q, shi_u64 target, shi_u64 bytes)
{
    q->op = SHI_OP_PUT_INLINE;
    q->arg[6] = shi_request_pair(bytes, target);
}

SHI_FN void shi_request_put_signal(struct shi_request *q, shi_u64 target, shi_u64 source, shi_u64 bytes,
                                   shi_u64 signal, shi_u64 value, int sig_op)
{
    shi_request_put(q, target, source, bytes);
    q->op = SHI_OP_PUT_SIGNAL;
    q->arg[3] = shi_request_pair((shi_u64)sig_op, signal);
    q->arg[4] = value;
}

/* The payload is arg 0 to 3. */
SHI_FN void shi_request_put_signal_inline(struct shi_request *q, shi_u64 target, shi_u64 bytes, shi_u64 signal,
                                          shi_u64 value, int sig_op)
{
    q->op = SHI_OP_PUT_SIGNAL_INLINE;
    q->arg[4] = shi_request_pair(bytes, target);
    q->arg[5] = shi_request_pair((shi_u64)sig_op, signal);
    q->arg[6] = value;
}

SHI_FN void shi_request_get(struct shi_request *q, shi_u64 dest, shi_u64 target, shi_u64 bytes)
{
    shi_request_put(q, target, dest, bytes);
    q->op = SHI_OP_GET;
}

SHI_FN void shi_request_get_inline(struct shi_request *q, shi_u64 target, shi_u64 bytes)
{
    shi_request_put(q, shi_request_pair(bytes, target), 0, 0);
    q->op = SHI_OP_GET_INLINE;
}

SHI_FN void shi_request_amo(struct shi_request *q, int amo, shi_u64 target, shi_u64 bytes, shi_u64 value, shi_u64 cond,
                            shi_u64 fetch, int result)
{
    q->op = SHI_OP_AMO;
    q->arg[0] = shi_request_pair((shi_u64)amo, target);
    q->arg[1] = bytes;
    q->arg[2] = value;
    q->arg[3] = cond;
    q->arg[4] = fetch;
    q->arg[5] = (shi_u64)result;
    q->arg[6] = 0;
}

/* hdr is arg 2 to 6. */
SHI_FN void shi_request_gpc(struct shi_request *q, int func, shi_u64 hlen, shi_u64 rhdr, shi_u64 rhlen, int result)
{
    q->op = SHI_OP_GPC;
    q->arg[0] = (shi_u64)(func & 0xffff) | hlen << 16 | rhlen << 32 | (shi_u64)result << 48;
    q->arg[1] = rhdr;
}

/* After shi_request_gpc; hdr is arg 4 to 6. */
SHI_FN void shi_request_gpc_chained(struct shi_request *q, int callback, int tree, int idlen, shi_u64 ids)
{
    q->op = SHI_OP_GPC_CHAINED;
    q->arg[2] = (shi_u64)(callback & 0xffff) | (shi_u64)(tree & 0xffff) << 16 | (shi_u64)(shi_u32)idlen << 32;
    q->arg[3] = ids;
}

/* Inline: the payload is arg 2 to 6. */
SHI_FN void shi_request_tag(struct shi_request *q, shi_u64 tag, shi_u64 source, shi_u64 bytes)
{
    shi_request_put(q, tag, source, bytes);
    q->op = SHI_OP_TAG;
}
SHI_FN void shi_request_tag_inline(struct shi_request *q, shi_u64 tag, shi_u64 bytes)
{
    q->op = SHI_OP_TAG_INLINE;
    q->arg[0] = tag;
    q->arg[1] = bytes;
}

SHI_FN void shi_request_tag_recv(struct shi_request *q, shi_u64 tag, shi_u64 mask, shi_u64 dest, shi_u64 bytes,
                                 shi_u64 sender, int result)
{
    q->op = SHI_OP_TAG_RECV;
    q->arg[0] = tag;
    q->arg[1] = mask;
    q->arg[2] = dest;
    q->arg[3] = bytes;
    q->arg[4] = sender;
    q->arg[5] = (shi_u64)result;
    q->arg[6] = 0;
}
SHI_FN void shi_request_tag_test(struct shi_request *q, shi_u64 ticket, int wait)
{
    shi_request_put(q, ticket, (shi_u64)wait, 0);
    q->op = SHI_OP_TAG_TEST;
}
SHI_FN void shi_request_tag_probe(struct shi_request *q, shi_u64 tag, shi_u64 mask, shi_u64 sender)
{
    shi_request_tag_recv(q, tag, mask, 0, 0, sender, SHI_RESULT_SLOT);
    q->op = SHI_OP_TAG_PROBE;
}

/* The target is this PE. */
SHI_FN void shi_request_clock(struct shi_request *q, shi_u64 dest)
{
    shi_request_put(q, dest, 0, 0);
    q->op = SHI_OP_CLOCK;
}

/* ---- host ------------------------------------------------------------------------------------------------------- */

#if !defined(__OPENCL_C_VERSION__) && !defined(__CUDACC__) && !defined(SHI_SYCL)
/* A decoded request. Fields that its op does not have are 0. */
struct shi_request_view {
    shi_u64 target, bytes;
    shi_u64 local;       /* source, dest or fetch: an address of the device, or 0 */
    const void *payload; /* inline data, in the request */
    shi_u64 signal, signal_value;
    int sig_op;
    int amo, result; /* enum shi_amo, enum shi_amo_result */
    shi_u64 value, cond;
    shi_u64 tag, mask, sender; /* sender: below 2^24, or SHI_TAG_ANY */
    shi_u64 ticket;            /* of TAG_TEST */
    int wait;
    int func;            /* of GPC; bytes of payload are hdr, local is rhdr */
    shi_u64 rhlen;
    int callback, tree, idlen; /* of GPC_CHAINED */
    const int *ids;
};

/* With the sign of bit 55. */
SHI_FN shi_u64 shi_request_low_(shi_u64 pair)
{
    shi_u64 sign = (shi_u64)1 << 55;
    return ((pair & SHI_REQUEST_LOW) ^ sign) - sign;
}

SHI_FN int shi_request_view_inline_(const struct shi_request *q, struct shi_request_view *v, int pair, shi_u64 limit)
{
    v->payload = q->arg;
    v->target = shi_request_low_(q->arg[pair]);
    v->bytes = q->arg[pair] >> 56;
    return v->bytes <= limit ? 0 : -1;
}

SHI_FN int shi_request_view_amo_(const struct shi_request *q, struct shi_request_view *v)
{
    v->target = shi_request_low_(q->arg[0]);
    v->bytes = q->arg[1];
    v->value = q->arg[2];
    v->cond = q->arg[3];
    v->local = q->arg[4];
    v->amo = (int)(q->arg[0] >> 56);
    v->result = (int)(q->arg[5] < SHI_RESULTS ? q->arg[5] : SHI_RESULTS);
    return (v->bytes == 4 || v->bytes == 8) && v->amo < SHI_AMOS && v->result < SHI_RESULTS ? 0 : -1;
}

SHI_FN int shi_request_view_gpc_(const struct shi_request *q, struct shi_request_view *v)
{
    v->func = (int)(q->arg[0] & 0xffff);
    v->bytes = q->arg[0] >> 16 & 0xffff;
    v->rhlen = q->arg[0] >> 32 & 0xffff;
    v->result = (int)(q->arg[0] >> 48);
    v->local = q->arg[1];
    v->payload = q->arg + 2;
    return v->bytes <= SHI_INLINE_GPC && v->rhlen <= 1024 && v->result <= SHI_RESULT_SLOT ? 0 : -1;
}

SHI_FN int shi_request_view_chained_(const struct shi_request *q, struct shi_request_view *v)
{
    int bad = shi_request_view_gpc_(q, v);
    v->callback = (short)(q->arg[2] & 0xffff);
    v->tree = (short)(q->arg[2] >> 16 & 0xffff);
    v->idlen = (int)(q->arg[2] >> 32);
    v->ids = (const int *)q->arg[3];
    v->payload = q->arg + 4;
    return bad || v->bytes > SHI_INLINE_GPC_CHAINED || v->idlen < 0 ? -1 : 0;
}

SHI_FN int shi_request_view_tag_(const struct shi_request *q, struct shi_request_view *v)
{
    v->tag = q->arg[0];
    v->mask = q->arg[1];
    v->local = q->arg[2];
    v->bytes = q->arg[3];
    v->sender = q->arg[4];
    v->result = (int)(q->arg[5] < SHI_RESULTS ? q->arg[5] : SHI_RESULTS);
    return v->result <= SHI_RESULT_SLOT && (v->sender == SHI_TAG_ANY || !(v->sender >> SHI_PE_BITS)) ? 0 : -1;
}

/* Decode a request. 0, or -1 when it is not in the table above, and v is then undefined. The caller checks its
 * addresses. */
SHI_FN int shi_request_view(const struct shi_request *q, struct shi_request_view *v)
{
    const struct shi_request_view none = {0};
    int bad = 0;
    *v = none;
    switch (q->op) {
    case SHI_OP_PUT_INLINE:
        bad = shi_request_view_inline_(q, v, 6, SHI_INLINE_PUT);
        break;
    case SHI_OP_PUT_SIGNAL_INLINE:
        bad = shi_request_view_inline_(q, v, 4, SHI_INLINE_SIGNAL);
        v->signal = shi_request_low_(q->arg[5]);
        v->sig_op = (int)(q->arg[5] >> 56);
        v->signal_value = q->arg[6];
        break;
    case SHI_OP_PUT_SIGNAL:
        v->signal = shi_request_low_(q->arg[3]);
        v->sig_op = (int)(q->arg[3] >> 56);
        v->signal_value = q->arg[4]; /* fall through */
    case SHI_OP_PUT:
    case SHI_OP_GET:
        v->target = shi_request_low_(q->arg[0]);
        v->local = q->arg[1];
        v->bytes = q->arg[2];
        break;
    case SHI_OP_GET_INLINE:
        bad = shi_request_view_inline_(q, v, 0, 8);
        v->payload = 0;
        break;
    case SHI_OP_AMO:
        bad = shi_request_view_amo_(q, v);
        break;
    case SHI_OP_GPC:
        bad = shi_request_view_gpc_(q, v);
        break;
    case SHI_OP_GPC_CHAINED:
        bad = shi_request_view_chained_(q, v);
        break;
    case SHI_OP_TAG:
        v->tag = q->arg[0];
        v->local = q->arg[1];
        v->bytes = q->arg[2];
        break;
    case SHI_OP_TAG_INLINE:
        v->tag = q->arg[0];
        v->bytes = q->arg[1];
        v->payload = q->arg + 2;
        bad = v->bytes > SHI_INLINE_TAG;
        break;
    case SHI_OP_TAG_RECV:
    case SHI_OP_TAG_PROBE:
        bad = shi_request_view_tag_(q, v);
        break;
    case SHI_OP_TAG_TEST:
        v->ticket = q->arg[0];
        v->wait = q->arg[1] != 0;
        break;
    case SHI_OP_CLOCK:
        v->local = q->arg[0];
        break;
    default:
        bad = -1;
    }
    return bad;
}
#endif

#endif
