/* stream_check.c - check a record against its message and this PE's memory before any of it is applied. */
#include "host/net/stream/stream_check.h"

#include "host/net/stream/pipeline.h"

/* `bytes` of the record's region, from its offset on. */
static const char *check_memory(const struct record *r, uint64_t bytes, int writes)
{
    const struct shi_stream_region *m = &shi_stream_net.own[r->region < SHI_REGIONS ? r->region : 0];
    if (r->region >= SHI_REGIONS || !m->base)
        return "a region that this PE does not have";
    if (r->off > m->bytes || bytes > m->bytes - r->off)
        return "memory outside of the region";
    return writes && r->off < m->read_only ? "a write to read-only memory" : NULL;
}

/* Strides are positive: the strided routines take no others. */
static const char *check_blocks(const struct record *r, const struct shi_blocks *b, int writes)
{
    uint64_t gaps, span;
    if (b->block == 0 || b->count == 0)
        return "blocks without bytes";
    if (b->count == 1)
        return check_memory(r, b->block, writes);
    if (b->stride < (int64_t)b->block)
        return "blocks that overlap";
    if (__builtin_mul_overflow((uint64_t)b->stride, (uint64_t)b->count - 1, &gaps) ||
        __builtin_add_overflow(gaps, b->block, &span))
        return "memory outside of the region";
    return check_memory(r, span, writes);
}

static const char *check_put_blocks(const struct record *r)
{
    const struct shi_blocks *b = (const struct shi_blocks *)(r + 1);
    if (r->bytes < sizeof *b || (uint64_t)b->block * b->count != r->bytes - sizeof *b)
        return "blocks that do not fill the payload";
    return check_blocks(r, b, 1);
}

static const char *check_get_blocks(const struct record *r)
{
    const struct blocks_payload *p = (const struct blocks_payload *)(r + 1);
    if (r->bytes != sizeof *p || p->cookie >= MAX_REPLIES)
        return "an invalid request for blocks";
    if ((uint64_t)p->blocks.block * p->blocks.count > SHI_STREAM_REPLY_BYTES)
        return "more bytes than a reply holds";
    return check_blocks(r, &p->blocks, 0);
}

static const char *check_word(const struct record *r, size_t width, int writes)
{
    const char *why = check_memory(r, width, writes);
    if (why)
        return why;
    uintptr_t word = (uintptr_t)shi_stream_net.own[r->region].base + r->off;
    return word & (width - 1) ? "an atomic operation on a misaligned word" : NULL;
}

static const char *check_wide(const struct record *r)
{
    const struct wide_payload *p = (const struct wide_payload *)(r + 1);
    if (r->what != SHI_AMO_CSWAP || r->width != (SHI_WIDE_BYTES | WIDTH_FETCHES) || r->bytes != sizeof *p || p->cookie >= MAX_REPLIES)
        return "an atomic operation with invalid operands";
    if (!shi_wide_is_there() || (r->region < SHI_REGIONS && shi_stream_net.own[r->region].device))
        return "a compare-and-swap of 16 bytes where this PE has none";
    return check_word(r, SHI_WIDE_BYTES, 1);
}

static const char *check_amo(const struct record *r)
{
    if ((r->width & WIDTH_BYTES) == SHI_WIDE_BYTES)
        return check_wide(r);
    const struct amo_payload *p = (const struct amo_payload *)(r + 1);
    size_t width = r->width & WIDTH_BYTES, fetches = r->width & WIDTH_FETCHES;
    size_t bytes = fetches ? sizeof *p : r->what == SHI_AMO_CSWAP ? 2 * sizeof p->value : sizeof p->value;
    if ((width != 4 && width != 8) || r->what >= SHI_AMOS)
        return "an atomic operation of unknown kind or width";
    if (r->bytes != bytes || (fetches && p->cookie >= MAX_REPLIES))
        return "an atomic operation with invalid operands";
    return check_word(r, width, r->what != SHI_AMO_FETCH);
}

/* Only memory that transfers cannot name is reached this way. */
static const char *check_served(const struct record *r)
{
    const struct served_payload *p = (const struct served_payload *)(r + 1);
    if (r->bytes != sizeof *p || p->bytes == 0 || (r->op == OP_PUSH && p->cookie >= MAX_REPLIES))
        return "an invalid request to move data";
    if (r->region >= SHI_REGIONS || !shi_stream_net.own[r->region].device || !shi_pipeline_is_up())
        return "a request to move data of memory that needs none";
    return check_memory(r, p->bytes, r->op == OP_PULL);
}

static const char *check_am(const struct record *r)
{
    if (r->what >= SHI_AM_IDS || r->what == SHI_AM_PULL) /* which is of one node */
        return "an active message of unknown id";
    return r->bytes == 0 || r->bytes > SHI_AM_LONGEST_BYTES ? "an active message of invalid length" : NULL;
}

const char *shi_stream_check(const struct record *r, size_t left)
{
    if (left < sizeof *r || left < record_bytes(r))
        return "a record that exceeds its message";
    switch (r->op) {
    case OP_PUT: return check_memory(r, r->bytes, 1);
    case OP_PUT_BLOCKS: return check_put_blocks(r);
    case OP_AMO: return check_amo(r);
    case OP_GET_BLOCKS: return check_get_blocks(r);
    case OP_PULL:
    case OP_PUSH: return check_served(r);
    case OP_REPLY: return NULL;
    case OP_AM: return check_am(r);
    default: return "a record of unknown type (mixed library versions?)";
    }
}
