/*
 * remote.c - put, get, atomics and order over the network's streams. A routine that needs one record calls the stream until
 * there is room; one that needs more steps, or an answer, waits for a remote operation. Waits are loops of polls.
 */
#include "host/ops/remote.h"

#include <errno.h>

#include "host/net/stream/remote_op.h"
#include "host/ops/dheap.h"
#include "host/ops/wait.h"
#include "host/util/log.h"

/* Poll until the condition holds, which depends on the network and on world PE pe (-1: any). */
#define AWAIT(CONDITION, WHAT, PE)                                                                                   \
    SHI_WAIT_PROGRESS(CONDITION, .routine = WHAT, .kind = SHI_FOR_NETWORK, .of = PE)

/* ---- remote addresses ------------------------------------------------------------------------------------------------ */

static int inside(uintptr_t lo, size_t length, const void *addr, size_t bytes, uint64_t *off)
{
    *off = (uintptr_t)addr - lo;
    return *off < length && bytes <= length - *off;
}

static int added(int pe, const void *addr, size_t bytes, struct shi_remote_addr *out)
{
    int i = shi_added_any() ? shi_added_find(addr, bytes, &out->off) : -1;
    out->region = SHI_REGION_ADDED + (enum shi_region)i;
    return i < 0 || !shi_added_has(i, pe) ? -EFAULT : 0;
}

int shi_remote_addr_of(const struct shi_peer *p, enum shi_use use, const void *addr, size_t bytes,
                       struct shi_remote_addr *out)
{
    size_t relro = p->same_program ? shi_world.relro_bytes : 0, data = p->same_program ? relro + shi_world.data_bytes : 0;
    out->pe = p->pe;
    size_t heap = __atomic_load_n(&shi_world.heap_reach, __ATOMIC_RELAXED);
    if (inside(shi_world.heap_lo, heap, addr, bytes, &out->off))
        out->region = SHI_REGION_HEAP;
    else if (inside(shi_world.data_lo - relro, data, addr, bytes, &out->off) && (use == SHI_READ || out->off >= relro))
        out->region = SHI_REGION_DATA;
    else if (shi_world.dev_lo && inside(shi_world.dev_lo, shi_world.dev_bytes, addr, bytes, &out->off))
        out->region = SHI_REGION_DEVICE;
    else
        return added(p->pe, addr, bytes, out);
    return 0;
}

int shi_is_remote(const char *routine, const struct shmem_ctx *ctx, enum shi_use use, const char *arg, const void *addr,
                  size_t bytes, int pe, struct shi_remote_addr *out)
{
    shi_check_call(routine, ctx, pe);
    const struct shi_peer *p = &ctx->peers[pe];
    if (!p->remote || bytes == 0 || (use == SHI_READ && shi_reach_read(p, addr, bytes)))
        return 0;
    shi_check_block(routine, arg, addr, bytes, pe);
    if (shi_remote_addr_of(p, use, addr, bytes, out))
        shi_not_symmetric(routine, use, arg, addr, bytes, pe);
    return 1;
}

/* ---- put and get -------------------------------------------------------------------------------------------------- */

/* An operation that the caller waits for. */
struct awaited {
    struct shi_remote_op op;
    int in_progress, ready; /* ready: set by a callback on any thread, release; read by the caller, acquire */
};

static void set_ready(struct shi_remote_op *op)
{
    __atomic_store_n(&shi_container_of(op, struct awaited, op)->ready, 1, __ATOMIC_RELEASE);
}

static int advance(struct awaited *a)
{
    if (a->in_progress && !__atomic_load_n(&a->ready, __ATOMIC_ACQUIRE))
        return 0;
    a->ready = 0;
    int err = shi_remote_op_advance(&a->op);
    a->in_progress = err == -EINPROGRESS;
    return err == 0;
}

static void complete(struct awaited *a, const char *routine)
{
    a->op.ready = set_ready;
    AWAIT(advance(a), routine, a->op.at.pe);
}

static void transfer(enum shi_remote_kind kind, enum shi_remote_way way, struct shi_lane *l,
                     const struct shi_remote_addr *at, void *local, size_t bytes, int nbi)
{
    struct awaited a = {.op = {.kind = kind, .way = way, .lane = l, .at = *at, .local = local, .bytes = bytes,
                               .until = nbi && way != SHI_REMOTE_STAGED ? SHI_REMOTE_POSTED : SHI_REMOTE_LOCAL,
                               .hidden = shi_dheap_hides(local, 1)}};
    complete(&a, kind == SHI_REMOTE_PUT ? "put" : "get");
}

static void put_record(struct shi_lane *l, const struct shi_remote_addr *to, const void *source, size_t bytes, int flags,
                       const char *routine)
{
    struct shi_stream_wait w = {0};
    AWAIT(shi_stream_put(l, to, source, bytes, flags, &w) != -EAGAIN, routine, to->pe);
}

void shi_remote_put(struct shi_lane *l, const struct shi_remote_addr *to, const void *source, size_t bytes, int how)
{
    int hidden = shi_dheap_hides(source, 1), flags = how & SHI_MORE ? SHI_STREAM_MORE : 0;
    enum shi_remote_way way = shi_remote_way(to, source, bytes, hidden);
    if (way != SHI_REMOTE_RECORDS || bytes > SHI_STREAM_PUT_BYTES) {
        transfer(SHI_REMOTE_PUT, way, l, to, (void *)source, bytes, how & SHI_NBI);
    } else {
        put_record(l, to, source, bytes, flags, "put");
    }
}

void shi_remote_get(struct shi_lane *l, const struct shi_remote_addr *from, void *dest, size_t bytes, int how)
{
    enum shi_remote_way way = shi_remote_way(from, dest, bytes, shi_dheap_hides(dest, 1));
    if (way == SHI_REMOTE_RECORDS && !(how & SHI_NBI) && shi_stream_reaches(from->pe, from->region) && shi_stream_idle(l, from->pe))
        way = SHI_REMOTE_DIRECT; /* it overtakes no put; nonblocking gets share messages */
    transfer(SHI_REMOTE_GET, way, l, from, dest, bytes, how & SHI_NBI);
}

/* ---- strides ------------------------------------------------------------------------------------------------------ */

/* Blocks between local, `here` bytes apart, and the remote address, `there` bytes apart, in records of at most record_bytes. */
static void transfer_strided(enum shi_remote_kind kind, struct shi_lane *l, struct shi_remote_addr at, char *local,
                             const struct shi_strided *s, ptrdiff_t there, ptrdiff_t here, size_t record_bytes)
{
    size_t block = s->block * s->elem;
    size_t many = shi_dheap_hides(local, 1) ? 0 : record_bytes / block; /* 0: a block does not fit or needs a bounce */
    here *= (ptrdiff_t)s->elem;
    there *= (ptrdiff_t)s->elem;
    for (size_t left = s->count, n; left; left -= n, local += (ptrdiff_t)n * here, at.off += (uint64_t)n * (uint64_t)there) {
        n = many == 0 ? 1 : left < many ? left : many;
        struct shi_blocks b = {(uint32_t)block, (uint32_t)n, there};
        if (many == 0 && kind == SHI_REMOTE_PUT) {
            shi_remote_put(l, &at, local, block, 0);
        } else if (many == 0) {
            shi_remote_get(l, &at, local, block, 0);
        } else if (kind == SHI_REMOTE_PUT) {
            struct shi_stream_wait w = {0};
            AWAIT(shi_stream_put_blocks(l, &at, &b, local, here, &w) != -EAGAIN, "put", at.pe);
        } else {
            struct awaited a = {.op = {.kind = SHI_REMOTE_GET, .until = SHI_REMOTE_LOCAL, .lane = l, .at = at, .local = local,
                                       .bytes = n * block, .blocks = &b, .stride = here}};
            complete(&a, "get");
        }
    }
}

void shi_remote_put_strided(struct shi_lane *l, const struct shi_remote_addr *to, const void *source,
                            const struct shi_strided *s)
{
    transfer_strided(SHI_REMOTE_PUT, l, *to, (char *)source, s, s->dst, s->sst, SHI_STREAM_PUT_BYTES - sizeof(struct shi_blocks));
}

void shi_remote_get_strided(struct shi_lane *l, const struct shi_remote_addr *from, void *dest,
                            const struct shi_strided *s)
{
    transfer_strided(SHI_REMOTE_GET, l, *from, dest, s, s->sst, s->dst, SHI_STREAM_REPLY_BYTES);
}

/* ---- atomics -------------------------------------------------------------------------------------------------------- */

void shi_remote_update(struct shi_lane *l, const struct shi_remote_addr *at, size_t width, int op, uint64_t value,
                       int after_put)
{
    struct shi_stream_wait w = {0};
    AWAIT(shi_stream_amo(l, at, (int)width, op, value, 0, NULL, after_put ? SHI_STREAM_AFTER_WRITES : 0, &w) != -EAGAIN,
          "put", at->pe);
}

uint64_t shi_remote_fetch(struct shi_lane *l, const struct shi_remote_addr *at, size_t width, int op, uint64_t value,
                          uint64_t cond)
{
    uint64_t old = 0;
    struct awaited a = {.op = {.kind = SHI_REMOTE_AMO, .until = SHI_REMOTE_LOCAL, .lane = l, .at = *at,
                               .local = (char *)&old, .bytes = width, .amo = {op, value, cond}}};
    complete(&a, "fetching atomic");
    return old;
}

void shi_remote_fetch_nbi(struct shi_lane *l, const struct shi_remote_addr *at, size_t width, int op, uint64_t value,
                          uint64_t cond, void *fetch)
{
    struct shi_reply r = {.to = fetch, .block = width};
    struct shi_stream_wait w = {0};
    AWAIT(shi_stream_amo(l, at, (int)width, op, value, cond, &r, 0, &w) != -EAGAIN, "fetching atomic", at->pe);
}

struct wide {
    struct shi_reply reply;
    int ready; /* set by the callback on any thread, release; read by the caller, acquire */
};

static void wide_ready(struct shi_reply *reply)
{
    __atomic_store_n(&shi_container_of(reply, struct wide, reply)->ready, 1, __ATOMIC_RELEASE);
}

void shi_remote_wide(struct shi_lane *l, const struct shi_remote_addr *at, const uint64_t value[2], const uint64_t cond[2],
                     uint64_t old[2])
{
    struct wide a = {.reply = {.to = (char *)old, .block = 2 * sizeof *old, .done = wide_ready}};
    struct shi_stream_wait w = {0};
    AWAIT(shi_stream_wide(l, at, value, cond, &a.reply, &w) != -EAGAIN, "fetching atomic", at->pe);
    AWAIT(__atomic_load_n(&a.ready, __ATOMIC_ACQUIRE), "fetching atomic", at->pe);
}

/* ---- order ---------------------------------------------------------------------------------------------------------- */

void shi_remote_fence(struct shi_lane *l)
{
    if (l)
        shi_stream_fence(l);
}

void shi_remote_quiet(struct shi_lane *l)
{
    shi_remote_quiet_pe(l, -1);
}

void shi_remote_quiet_wait(struct shi_lane *l, int world_pe, uint64_t *wait)
{
    AWAIT(shi_stream_quiet(l, world_pe, wait), "quiet", world_pe);
}

void shi_remote_quiet_pe(struct shi_lane *l, int world_pe)
{
    uint64_t wait = 0;
    if (l)
        shi_remote_quiet_wait(l, world_pe, &wait);
}

void shi_remote_local(struct shi_lane *l)
{
    uint64_t wait = 0;
    if (l)
        AWAIT(shi_stream_local(l, &wait), "collective", -1);
}

void shi_remote_sync_store(int world_pe, uint64_t off, const void *from, size_t bytes, int more)
{
    struct shi_remote_addr to = {world_pe, SHI_REGION_SYNC, off};
    int flags = SHI_STREAM_AFTER_WRITES | (more ? SHI_STREAM_MORE : 0);
    put_record(shi_world.lane, &to, from, bytes, flags, "collective");
}
