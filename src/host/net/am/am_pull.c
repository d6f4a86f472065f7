/*
 * am_pull.c - reads of another PE's memory on the node, in one copy. Both PEs copy a long read of private memory: the reader takes
 * pieces, and the memory's owner, if it polls, takes pieces and writes them into the reader's memory. The reader waits only for
 * pieces that the owner has taken.
 *
 * A PE has a few jobs, one for each of its long reads in progress. A message asks the owner to help. Help is best effort: a
 * request that cannot be sent, or is late, is ignored.
 *
 *   word                            written by        read by      order
 *   job.left  owner, and pieces     reader, owner     the same     R1 -> A1 the reader has written the job. A piece that is
 *             not taken yet         (compare and                   taken belongs to the present job, which cannot end
 *                                   swap)                          before the piece is copied
 *   job.from .to .bytes .piece      reader, before R1 owner        relaxed, between A1 and R2
 *   job.done  the owner's pieces;   owner; 0 by the   reader       R2 -> A2 the owner has copied them
 *             in the high half,     reader before R1
 *             those it could not
 *   mine.busy                       readers' threads  the same     spin.h; guards the rest of mine
 *   lost[rank]                      polls             the same     one at a time
 *   mine.f                          reader's thread   its poll     R3 -> A3 the reader has copied and counted its pieces;
 *                                                                  from then on only the poll uses mine
 * Checked by test/model/pull.pml, which must fail when one of R1 A1 R2 A2 is weakened.
 */
#include "host/net/am/am_pull.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/net/node/doorbell.h"
#include "host/util/base.h"
#include "host/util/copy_lines.h"
#include "host/util/log.h"
#include "host/util/spin.h"
#include "host/util/tsan.h"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

enum { JOBS = 4 };

enum key { IN_FILE, IN_DEVICE, IN_PROCESS }; /* addr: offset in the node's file, in the device heap, or an address */

struct job {
    _Alignas(SHI_LINE_BYTES) uint64_t left; /* see pack */
    uint64_t from, to, bytes, piece; /* addresses of the owner and of the reader */
    _Alignas(SHI_LINE_BYTES) uint64_t done; /* the low half: pieces; the high half: of these, failures */
};
_Static_assert(JOBS * sizeof(struct job) <= SHI_AM_PULL_BYTES, "the jobs of a PE have room");

/* The message: help with this job of this reader. */
struct help_request {
    uint32_t reader, job;
};

/* The reader's side of a job. */
struct mine {
    uint8_t busy;
    struct shi_am_fetch *f; /* to call back, once only the owner still copies */
    uint32_t helped;        /* pieces that the owner took */
    int rank, err;
    struct shi_am_src src;  /* of the whole, for when the owner's help fails */
    char *to;
};

static struct shi_am_world world;
static int local;
static struct mine mine[JOBS];
static int n_open; /* jobs that a poll will end */
static uint8_t *lost; /* [n] the PE has died */
static int *may;   /* [n] may this PE and that one read and write each other's private memory? 0 unknown, 1, or -errno */

static struct job *jobs_of(int rank)
{
    return (struct job *)(world.shm->base + world.shm->region[rank].am_off);
}

static shi_am_handler help;

int shi_am_pull_up(const struct shi_am_world *w)
{
    world = *w;
    local = w->local;
    shi_am_handle(SHI_AM_PULL, help);
    if (may)
        return 0;
    may = calloc((size_t)w->shm->n, sizeof *may);
    lost = calloc((size_t)w->shm->n, 1);
    if (!may || !lost) {
        shi_log_error("no memory for messages between the %d PEs of a node", w->shm->n);
        return -ENOMEM;
    }
    prctl(PR_SET_PTRACER, getppid(), 0, 0, 0); /* for Yama: the launcher's children may read this memory */
    return 0;
}

void shi_am_pull_drop(void)
{
    memset(mine, 0, sizeof mine);
    n_open = 0;
}

void shi_am_pull_leave(void)
{
    free(may);
    free(lost);
    may = NULL;
    lost = NULL;
    local = 0;
    memset(&world, 0, sizeof world);
}

/* ---- exposing ----------------------------------------------------------------------------------------------------- */

/* Both PEs have the same rights over each other (one user, each a tracer of its siblings), so this PE tries: reading address
 * 0 fails with EFAULT if it has the rights. */
static int probe(int rank)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {NULL, 1};
    pid_t pid = world.shm->region[rank].pid;
    int ok = rank == local || process_vm_readv(pid, &to, 1, &from, 1, 0) == 1 || errno == EFAULT;
    if (!ok)
        shi_log_debug("process_vm_readv of process %d is refused: %s; private memory is copied twice", (int)pid,
                      strerror(errno));
    int answer = ok ? 1 : -EOPNOTSUPP;
    __atomic_store_n(&may[rank], answer, __ATOMIC_RELAXED);
    return answer;
}

static int may_access(int rank)
{
    int known = __atomic_load_n(&may[rank], __ATOMIC_RELAXED);
    return known ? known : probe(rank);
}

/* Is [addr, + bytes) in this part of the region? */
static int is_in(uintptr_t addr, size_t bytes, uintptr_t lo, size_t length)
{
    return addr - lo < length && bytes <= length - (addr - lo);
}

int shi_am_pull_expose(int rank, const void *addr, size_t bytes, struct shi_am_src *out)
{
    const struct shi_shm_region *r = &world.shm->region[local];
    uintptr_t a = (uintptr_t)addr;
    if (is_in(a, bytes, world.shm->heap_lo, r->heap_bytes)) {
        *out = (struct shi_am_src){.addr = r->heap_off + (a - world.shm->heap_lo), .key = IN_FILE, .bytes = bytes};
    } else if (is_in(a, bytes, world.data_lo, r->data_bytes)) {
        *out = (struct shi_am_src){.addr = r->data_off + (a - world.data_lo), .key = IN_FILE, .bytes = bytes};
    } else if (world.in_device(addr, bytes)) {
        *out = (struct shi_am_src){.addr = a - (uintptr_t)world.device_of(world.pe), .key = IN_DEVICE, .bytes = bytes};
    } else {
        int answer = may_access(rank);
        if (answer < 0)
            return answer;
        *out = (struct shi_am_src){.addr = a, .key = IN_PROCESS, .bytes = bytes};
    }
    return 0;
}

/* ---- copying ------------------------------------------------------------------------------------------------------ */

/* process_vm_readv or process_vm_writev. */
typedef ssize_t move(pid_t pid, const struct iovec *here, unsigned long n_here, const struct iovec *there,
                     unsigned long n_there, unsigned long flags);

/* Between this process's memory and another's. */
static int move_all(move *call, int rank, const void *here, uint64_t there, size_t bytes)
{
    pid_t pid = world.shm->region[rank].pid;
    for (size_t done = 0; done < bytes;) {
        struct iovec ours = {(char *)here + done, bytes - done};
        struct iovec theirs = {(void *)(uintptr_t)(there + done), bytes - done};
        ssize_t got = call(pid, &ours, 1, &theirs, 1, 0);
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        done += (size_t)got;
    }
    return 0;
}

/* From another process's private memory into device memory, through a bounce buffer. */
static int read_to_device(int rank, char *to, uint64_t from, size_t bytes)
{
    char bounce[16384];
    for (size_t done = 0, some; done < bytes; done += some) {
        some = bytes - done < sizeof bounce ? bytes - done : sizeof bounce;
        int err = move_all(process_vm_readv, rank, bounce, from + done, some);
        if (err)
            return err;
        world.device_copy(to + done, bounce, some);
    }
    return 0;
}

/* Without the owner's help. */
static int read_alone(int rank, const struct shi_am_src *src, size_t off, void *to, size_t bytes)
{
    SHI_TSAN_IGNORED; /* the owner may be a thread of this PE */
    int to_device = world.in_device(to, bytes);
    uint64_t addr = src->addr + off;
    const void *from;
    if (src->key == IN_PROCESS && rank != local)
        return to_device ? read_to_device(rank, to, addr, bytes) : move_all(process_vm_readv, rank, to, addr, bytes);
    if (src->key == IN_FILE)
        from = world.shm->base + addr;
    else if (src->key == IN_DEVICE)
        from = (char *)world.device_of(world.shm->region[rank].pe) + addr;
    else
        from = (void *)(uintptr_t)addr;
    if (src->key == IN_DEVICE || to_device)
        world.device_copy(to, from, bytes);
    else
        shi_copy_part(to, from, bytes, 2 * src->bytes);
    return 0;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------- */

static uint64_t word(const uint64_t *w)
{
    return __atomic_load_n(w, __ATOMIC_RELAXED);
}

static void set(uint64_t *w, uint64_t value)
{
    __atomic_store_n(w, value, __ATOMIC_RELAXED);
}

static uint64_t pack(int owner, uint64_t pieces)
{
    return (uint64_t)owner << 32 | pieces;
}

static uint64_t pieces_of(uint64_t left)
{
    return (uint32_t)left;
}

static int owner_of(uint64_t left)
{
    return (int)(left >> 32);
}

/* Take a piece: its number, or -1 when no more are left for this owner. */
static int64_t take(struct job *j, int owner)
{
    uint64_t left = word(&j->left);
    while (pieces_of(left) && owner_of(left) == owner)
        if (__atomic_compare_exchange_n(&j->left, &left, left - 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* A1 */
            return (int64_t)pieces_of(left) - 1;
    return -1;
}

/* Where piece k begins, and how long it is. */
static uint64_t start_of(const struct job *j, int64_t k, size_t *bytes)
{
    uint64_t piece = word(&j->piece), at = (uint64_t)k * piece, rest = word(&j->bytes) - at;
    *bytes = rest < piece ? rest : piece;
    return at;
}

/* ---- the reader --------------------------------------------------------------------------------------------------- */

/* All pieces are copied: the fetch's result. Where the owner failed, the reader copies all of it. */
static int end(struct mine *m, uint64_t done)
{
    uint64_t failures = done >> 32;
    return m->err || !failures ? m->err : read_alone(m->rank, &m->src, 0, m->to, m->src.bytes);
}

/* Publish the job. How many pieces it has. */
static uint64_t publish(struct job *j, const struct mine *m)
{
    size_t bytes = m->src.bytes, piece = shi_shared_read_piece(bytes);
    uint64_t pieces = (bytes + piece - 1) / piece;
    set(&j->from, m->src.addr);
    set(&j->to, (uint64_t)m->to);
    set(&j->bytes, bytes);
    set(&j->piece, piece);
    set(&j->done, 0);
    __atomic_store_n(&j->left, pack(m->rank, pieces), __ATOMIC_RELEASE); /* R1 */
    return pieces;
}

static void ask_for_help(int rank, int job)
{
    int pe = world.shm->region[rank].pe;
    struct help_request *room = shi_am_begin(pe, SHI_AM_PULL, sizeof *room);
    if (!room)
        return;
    *room = (struct help_request){(uint32_t)local, (uint32_t)job};
    shi_am_end(pe, sizeof *room);
}

/* Copy pieces until all are taken. How many. */
static uint64_t read_pieces(struct job *j, struct mine *m)
{
    uint64_t n = 0;
    for (int64_t k; (k = take(j, m->rank)) >= 0; n++) {
        size_t bytes, at = start_of(j, k, &bytes);
        if (!m->err)
            m->err = read_alone(m->rank, &m->src, at, m->to + at, bytes);
    }
    return n;
}

/* Has the owner copied its pieces? */
static int is_whole(const struct job *j, const struct mine *m, uint64_t *done)
{
    *done = __atomic_load_n(&j->done, __ATOMIC_ACQUIRE); /* A2 */
    return (uint32_t)*done == m->helped;
}

static int read_together(int i, struct shi_am_fetch *f)
{
    struct job *j = &jobs_of(local)[i];
    struct mine *m = &mine[i];
    uint64_t done, pieces = publish(j, m);
    ask_for_help(m->rank, i);
    m->helped = (uint32_t)(pieces - read_pieces(j, m));
    if (is_whole(j, m, &done)) {
        int err = end(m, done);
        shi_spin_unlock(&m->busy);
        return err;
    }
    __atomic_fetch_add(&n_open, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&m->f, f, __ATOMIC_RELEASE); /* R3 */
    return -EINPROGRESS;
}

static int is_worth_sharing(int rank, const struct shi_am_src *src, const void *to, size_t bytes)
{
    return rank != local && src->key == IN_PROCESS && shi_shared_read_piece(bytes) && !world.in_device(to, bytes);
}

int shi_am_pull_fetch(int rank, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f)
{
    if (src->key > IN_PROCESS || off > src->bytes || bytes > src->bytes - off ||
        (src->key == IN_FILE && !is_in(src->addr, src->bytes, 0, world.shm->bytes)))
        shi_am_refuse(world.shm->region[rank].pe, "memory to read that is not there");
    int shares = is_worth_sharing(rank, src, to, bytes);
    for (int i = 0; shares && i < JOBS; i++) {
        struct mine *m = &mine[i];
        if (!shi_spin_try(&m->busy))
            continue;
        m->rank = rank;
        m->err = 0;
        m->src = (struct shi_am_src){.addr = src->addr + off, .key = src->key, .bytes = bytes};
        m->to = to;
        return read_together(i, f);
    }
    return read_alone(rank, src, off, to, bytes);
}

/* Complete the reads whose owners have copied their pieces. How many. */
static int complete_reads(void)
{
    int ended = 0;
    for (int i = 0; i < JOBS; i++) {
        struct mine *m = &mine[i];
        uint64_t done;
        struct shi_am_fetch *f = __atomic_load_n(&m->f, __ATOMIC_ACQUIRE); /* A3 */
        int whole = f && is_whole(&jobs_of(local)[i], m, &done);
        if (!f || (!whole && !lost[m->rank]))
            continue;
        int err = whole ? end(m, done) : -ESRCH;
        m->f = NULL;
        __atomic_fetch_sub(&n_open, 1, __ATOMIC_RELAXED);
        shi_spin_unlock(&m->busy);
        f->done(f, err);
        ended++;
    }
    return ended;
}

/* ---- the owner ---------------------------------------------------------------------------------------------------- */

/* The handler: copy pieces of a reader's job while some are left. */
static void help(int pe, const void *msg, size_t bytes)
{
    const struct help_request *asked = msg;
    if (bytes != sizeof *asked || asked->reader >= (uint32_t)world.shm->n || asked->job >= JOBS ||
        world.shm->region[asked->reader].pe != pe)
        shi_am_refuse(pe, "an invalid request to help with a read");
    int reader = (int)asked->reader;
    if (may_access(reader) < 0)
        return;
    struct job *j = &jobs_of(reader)[asked->job];
    for (int64_t k; (k = take(j, local)) >= 0;) {
        uint64_t at = start_of(j, k, &bytes);
        const void *from = (const void *)(uintptr_t)(word(&j->from) + at);
        int err = move_all(process_vm_writev, reader, from, word(&j->to) + at, bytes);
        if (err)
            shi_log_debug("process_vm_writev to process %d: %s; it reads alone", (int)world.shm->region[reader].pid,
                          strerror(-err));
        __atomic_fetch_add(&j->done, err ? 1ull << 32 | 1 : 1, __ATOMIC_RELEASE); /* R2 */
        shi_doorbell_ring_pe(&reader);
    }
}

void shi_am_pull_lose(int rank)
{
    lost[rank] = 1;
}

void shi_am_pull_renew(int rank)
{
    lost[rank] = 0;
    __atomic_store_n(&may[rank], 0, __ATOMIC_RELAXED);
}

int shi_am_pull_poll(void)
{
    return shi_likely(!__atomic_load_n(&n_open, __ATOMIC_RELAXED)) ? 0 : complete_reads();
}
