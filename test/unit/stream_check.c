/* stream_check.c - records that the receiver refuses (host/net/stream/stream_check.c), one case for each kind of error. */
#include "host/net/stream/stream_check.h"

#include <stdint.h>
#include <stdlib.h>

#include "../tap.h"
#include "host/net/stream/lane.h"
#include "host/net/stream/pipeline.h"

enum { BYTES = 4096, READ_ONLY = 1024 };

struct shi_stream_net shi_stream_net;
static _Alignas(64) char memory[BYTES + 4];

static int pipeline_is_up = 1;

int shi_pipeline_is_up(void)
{
    return pipeline_is_up;
}

/* A message's last record, with its payload. */
static struct {
    struct record r;
    union {
        struct shi_blocks blocks;
        struct blocks_payload get;
        struct amo_payload amo;
        struct wide_payload wide;
        struct served_payload served;
        char bytes[SHI_AM_LONGEST_BYTES + 8];
    } p;
} m;

/* The short check of puts accepts none that the long one refuses. */
static const char *check_part(size_t left)
{
    const char *why = shi_stream_check(&m.r, left);
    CHECKF(!why || !shi_stream_is_heap_put(&m.r, left), "the short check accepts what the long one refuses: %s", why ? why : "");
    return why;
}

static const char *check(void)
{
    return check_part(record_bytes(&m.r));
}

static void is_valid(const char *what)
{
    const char *why = check();
    CHECKF(!why, "%s is refused: %s", what, why);
}

static void is_invalid(const char *what, const char *words)
{
    const char *why = check();
    CHECKF(why && strstr(why, words), "%s: %s, not: %s", what, why ? why : "taken", words);
}

static void put(int region, uint64_t off, uint32_t bytes)
{
    m.r = (struct record){.op = OP_PUT, .region = (uint8_t)region, .off = off, .bytes = bytes};
}

static void put_blocks(uint32_t block, uint32_t count, int64_t stride, uint64_t off)
{
    m.r = (struct record){.op = OP_PUT_BLOCKS, .off = off, .bytes = (uint32_t)(sizeof m.p.blocks + (size_t)block * count)};
    m.p.blocks = (struct shi_blocks){block, count, stride};
}

static void get_blocks(uint32_t block, uint32_t count, int64_t stride, uint64_t off)
{
    m.r = (struct record){.op = OP_GET_BLOCKS, .off = off, .bytes = sizeof m.p.get};
    m.p.get = (struct blocks_payload){{block, count, stride}, 0};
}

static void amo(int op, int width, uint32_t bytes, uint64_t off)
{
    m.r = (struct record){.op = OP_AMO, .what = (uint8_t)op, .width = (uint8_t)width, .bytes = bytes, .off = off};
    m.p.amo = (struct amo_payload){1, 2, 3};
}

static void wide(uint64_t off)
{
    m.r = (struct record){.op = OP_AMO, .what = SHI_AMO_CSWAP, .width = SHI_WIDE_BYTES | WIDTH_FETCHES, .bytes = sizeof m.p.wide, .off = off};
    m.p.wide = (struct wide_payload){.cookie = 0};
}

/* Catches: a record accepted that extends past its message, or has an unknown type. */
static void lengths(void)
{
    put(SHI_REGION_HEAP, 0, 8);
    CHECK(!check_part(24));
    CHECK(check_part(23) && check_part(16) && check_part(15) && check_part(1));
    put(SHI_REGION_HEAP, 0, 1); /* with its padding */
    CHECK(!check_part(24) && check_part(23));
    put(SHI_REGION_HEAP, 0, UINT32_MAX);
    CHECK(check_part(24));
    m.r.op = OP_AM + 1;
    is_invalid("another type", "unknown type");
}

/* Catches: a put accepted beyond its region, to a missing region, to constant data. */
static void regions(void)
{
    put(SHI_REGION_HEAP, BYTES - 8, 8);
    is_valid("a put to the end");
    CHECK(shi_stream_is_heap_put(&m.r, record_bytes(&m.r)));
    put(SHI_REGION_HEAP, BYTES - 7, 8);
    is_invalid("a put past the end", "outside");
    put(SHI_REGION_HEAP, BYTES + 8, 0);
    is_invalid("an empty put past the end", "outside");
    put(SHI_REGION_HEAP, UINT64_MAX - 3, 8);
    is_invalid("a put that wraps", "outside");
    put(SHI_REGION_DATA, READ_ONLY, 8);
    is_valid("a put to data");
    put(SHI_REGION_DATA, READ_ONLY - 1, 8);
    is_invalid("a put to constants", "read-only");
    put(SHI_REGION_SYNC, 0, 0);
    is_invalid("a put to no memory", "does not have");
    put(SHI_REGIONS, 0, 8);
    is_invalid("a put to no region", "does not have");
}

/* Catches: blocks accepted whose number, size or stride overflows, or does not match the payload. */
static void blocks(void)
{
    put_blocks(8, 4, 16, BYTES - 3 * 16 - 8);
    is_valid("a put of blocks to the end");
    put_blocks(8, 4, 16, BYTES - 3 * 16 - 7);
    is_invalid("blocks past the end", "outside");
    put_blocks(8, 4, 16, 0);
    m.p.blocks.count = 5;
    is_invalid("more blocks than payload", "fill");
    put_blocks(8, 4, 16, 0);
    m.p.blocks.count = 3;
    is_invalid("fewer blocks than payload", "fill");
    put_blocks(8, 4, 16, 0);
    m.p.blocks.block = 0x40000008; /* times 4 it is 32 in 32 bits */
    is_invalid("blocks that wrap", "fill");
    put_blocks(8, 4, 16, 0);
    m.r.bytes = sizeof m.p.blocks - 8;
    is_invalid("half a head of blocks", "fill");
    put_blocks(0, 4, 16, 0);
    is_invalid("empty blocks", "without bytes");
    put_blocks(8, 4, 7, 0);
    is_invalid("blocks that overlap", "overlap");
    put_blocks(8, 4, -16, 1024);
    is_invalid("a negative stride", "overlap");
    put_blocks(8, 4, INT64_MAX / 2, 0);
    is_invalid("a span that wraps", "outside");
    get_blocks(8, 1024, 8, 0);
    is_invalid("a get past the end", "outside");
    get_blocks(8, 512, 8, 0);
    is_valid("a get of all");
    get_blocks(1, SHI_STREAM_REPLY_BYTES + 1, 1, 0);
    is_invalid("a get longer than a reply", "reply");
    get_blocks(0, UINT32_MAX, 8, 0);
    is_invalid("a get of empty blocks", "without bytes");
    get_blocks(8, 1, 0, 0);
    is_valid("one block without a stride");
    m.p.get.cookie = MAX_REPLIES;
    is_invalid("a get with another cookie", "invalid request");
    get_blocks(8, 1, 0, 0);
    m.r.bytes -= 8;
    is_invalid("half a get", "invalid request");
}

/* Catches: an atomic accepted with an invalid width, operator or length, or on memory without atomics. */
static void atomics(void)
{
    amo(SHI_AMO_ADD, 8, 8, 0);
    is_valid("an addition");
    amo(SHI_AMO_ADD, 4, 8, BYTES - 4);
    is_valid("an addition at the end");
    amo(SHI_AMO_ADD, 4, 8, BYTES);
    is_invalid("an addition past the end", "outside");
    amo(SHI_AMO_CSWAP, 8, 16, 0);
    is_valid("a compare and swap");
    amo(SHI_AMO_CSWAP, 8, 8, 0);
    is_invalid("a compare and swap without condition", "operands");
    amo(SHI_AMO_FETCH, 8 | 0x80, 24, 0);
    is_valid("a fetch");
    amo(SHI_AMO_FETCH, 8 | 0x80, 16, 0);
    is_invalid("a fetch without cookie", "operands");
    amo(SHI_AMO_FETCH, 8 | 0x80, 24, 0);
    m.p.amo.cookie = MAX_REPLIES;
    is_invalid("a fetch with another cookie", "operands");
    amo(SHI_AMOS, 8, 8, 0);
    is_invalid("another operator", "kind or width");
    for (int width = 0; width < 128; width++) {
        amo(SHI_AMO_ADD, width, 8, 0);
        if ((width & WIDTH_BYTES) == SHI_WIDE_BYTES)
            is_invalid("an addition of 16 bytes", "operands");
        else if ((width & WIDTH_BYTES) != 4 && (width & WIDTH_BYTES) != 8)
            is_invalid("another width", "kind or width");
    }
    wide(0);
    if (shi_wide_is_there())
        is_valid("a compare and swap of 16 bytes");
    else
        is_invalid("a compare and swap of 16 bytes", "none");
    m.r.bytes -= 8;
    is_invalid("one without cookie", "operands");
    wide(0);
    m.p.wide.cookie = MAX_REPLIES;
    is_invalid("one with another cookie", "operands");
    wide(0);
    m.r.width = SHI_WIDE_BYTES;
    is_invalid("one that does not fetch", "operands");
    wide(0);
    m.r.region = SHI_REGION_DEVICE;
    static const struct shi_stream_device device;
    shi_stream_net.own[SHI_REGION_DEVICE].device = &device; /* memory that the host does not access */
    is_invalid("one of device memory", "none");
    shi_stream_net.own[SHI_REGION_DEVICE].device = NULL;
    if (shi_wide_is_there()) {
        wide(8);
        is_invalid("one at 8", "misaligned");
        wide(BYTES);
        is_invalid("one past the end", "outside");
    }
    amo(SHI_AMO_ADD, 8, 8, 4);
    is_invalid("an addition at 4", "misaligned");
    amo(SHI_AMO_ADD, 4, 8, 2);
    is_invalid("an addition at 2", "misaligned");
    amo(SHI_AMO_ADD, 8, 8, READ_ONLY - 8);
    m.r.region = SHI_REGION_DATA;
    is_invalid("an addition to constants", "read-only");
    m.r.what = SHI_AMO_FETCH;
    is_valid("a fetch of constants");
}

static void served(int op, uint64_t off, uint64_t bytes)
{
    m.r = (struct record){.op = (uint8_t)op, .region = SHI_REGION_DEVICE, .off = off, .bytes = sizeof m.p.served};
    m.p.served = (struct served_payload){.bytes = bytes};
}

/* Catches: a pull or push accepted beyond its region, or of memory that the host accesses. */
static void pulls(void)
{
    static const struct shi_stream_device device;
    shi_stream_net.own[SHI_REGION_DEVICE].device = &device;
    for (int op = OP_PULL; op <= OP_PUSH; op++) {
        served(op, 1, BYTES - 1);
        is_valid("a pull or push to the end");
        served(op, 1, BYTES);
        is_invalid("one past the end", "outside");
        served(op, 8, UINT64_MAX - 7);
        is_invalid("one that wraps", "outside");
        served(op, 0, 0);
        is_invalid("one without bytes", "invalid request");
        served(op, 0, 8);
        m.r.bytes -= 8;
        is_invalid("half of one", "invalid request");
        served(op, 0, 8);
        m.r.region = SHI_REGION_HEAP;
        is_invalid("one of the heap", "needs none");
        m.r.region = SHI_REGIONS;
        is_invalid("one of no region", "needs none");
        served(op, 0, 8);
        pipeline_is_up = 0;
        is_invalid("one without chunks", "needs none");
        pipeline_is_up = 1;
    }
    served(OP_PUSH, 0, 8);
    m.p.served.cookie = MAX_REPLIES;
    is_invalid("a push with another cookie", "invalid request");
    shi_stream_net.own[SHI_REGION_DEVICE].device = NULL;
}

/* Catches: an active message accepted without a handler, longer than the maximum, or of a kind for one node only. */
static void messages(void)
{
    m.r = (struct record){.op = OP_AM, .what = SHI_AM_TAG, .bytes = SHI_AM_LONGEST_BYTES};
    is_valid("the longest active message");
    m.r.bytes++;
    is_invalid("a longer one", "length");
    m.r.bytes = 0;
    is_invalid("an empty one", "length");
    m.r = (struct record){.op = OP_AM, .what = SHI_AM_PULL, .bytes = 8};
    is_invalid("one of a node", "unknown id");
    m.r.what = SHI_AM_IDS;
    is_invalid("one of no layer", "unknown id");
}

int main(void)
{
    shi_stream_net.own[SHI_REGION_HEAP] = (struct shi_stream_region){.base = memory, .bytes = BYTES};
    shi_stream_net.own[SHI_REGION_DATA] = (struct shi_stream_region){.base = memory, .bytes = BYTES, .read_only = READ_ONLY};
    shi_stream_net.own[SHI_REGION_DEVICE] = (struct shi_stream_region){.base = memory, .bytes = BYTES};
    RUN(lengths, "records that exceed their message, and other types");
    RUN(regions, "memory outside of the regions, or read-only");
    RUN(blocks, "sizes and strides");
    RUN(atomics, "widths, operators, operands, alignment");
    RUN(pulls, "pulls and pushes");
    RUN(messages, "ids and lengths of active messages");
    return tap_end();
}
