/*
 * net_shm.c - set up the shared memory of a node; the data path is loads and stores, and calls nothing here.
 *
 *   word (control block)  written by                read by    order
 *   file_bytes            first PE, before all      PEs       plain; it publishes the file afterwards
 *   reserved_off          every PE, atomic updates  every PE   relaxed: hands out file ranges
 *   arrived               every PE, fetch-add       every PE   R1 -> A1
 *   region[i].waits       local PE i                every PE   relaxed: only for the report of a wait that is too long
 *   region[i]             local PE i, before R1     every PE   plain, after A1
 *   doorbells             see doorbell.c
 *   records               see stream_up.c           PEs       plain, between two barriers
 *   peers                 first PE, before all        PEs       plain; it publishes the file afterwards
 *   abort                 first PE to abort, CAS    every PE   relaxed: no other data depends on it
 *
 * R1 -> A1  a PE's region record, heap mapping and static data are in the file before any peer looks at them.
 */
#include "host/net/node/net_shm.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/net/node/doorbell.h"
#include "host/net/node/shm_join.h"
#include "host/net/node/shm_map.h"
#include "host/util/base.h"
#include "host/util/end.h"
#include "host/util/log.h"
#include "host/util/memory.h"
#include "host/util/peer_fd.h"
#include "host/util/startup.h"

enum { PEERS_ALIGN = 65536 /* the largest page, for a mapping of the peers */ };

/* What the first PE of a node publishes. */
struct rendezvous {
    int pid, fd;
};

/* The doorbells follow the regions, the records of the job's PEs follow the doorbells, and the peers follow the records. */
static size_t doorbells_off(int n)
{
    return shi_round_up(sizeof(struct shi_shm_control) + n * sizeof(struct shi_shm_region), SHI_LINE_BYTES);
}

static size_t records_off(int n)
{
    return shi_round_up(doorbells_off(n) + shi_doorbell_bytes(n), SHI_PAGE_BYTES);
}

static size_t peers_off(const struct shi_boot *boot)
{
    return shi_round_up(records_off(boot->n_local) + (size_t)boot->n_pes * SHI_SHM_RECORD_BYTES, PEERS_ALIGN);
}

static size_t control_bytes(const struct shi_boot *boot, const struct shi_shm_params *params)
{
    size_t peers = boot->n_local < boot->n_pes ? (size_t)boot->n_pes * params->peer_bytes : 0;
    return shi_round_up(peers_off(boot) + peers, SHI_HUGE_BYTES);
}

/* A file in memory without a name: a memfd, or where a sandbox refuses that, a file of /dev/shm, whose size the mount limits. The
 * descriptor, or -errno after one line. */
static int unnamed_file(void)
{
    int fd = (int)syscall(SYS_memfd_create, "fulmar", MFD_CLOEXEC), memfd_errno = errno;
    if (fd >= 0)
        return fd;
    fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    int err = -errno;
    shi_log_error("no shared memory: memfd_create: %s; a file in /dev/shm: %s; allow one of them", strerror(memfd_errno), strerror(-err));
    return err;
}

/* The size of the node's file: i_size only, pages exist once touched. ulimit -f limits it, as for all files, and the kernel kills who
 * asks for more. */
static uint64_t file_bytes(void)
{
    struct rlimit most;
    uint64_t bytes = 1ull << 46;
    return getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur > bytes ? bytes : most.rlim_cur;
}

/* Log that the node's heaps do not fit. */
static int too_large(size_t heap_bytes, uint64_t limit)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur <= limit)
        shi_log_error("SHMEM_SYMMETRIC_SIZE=%zu: the heaps of a node do not fit into a file of %llu KiB, the limit of ulimit -f", heap_bytes,
                      (unsigned long long)most.rlim_cur >> 10);
    else
        shi_log_error("SHMEM_SYMMETRIC_SIZE=%zu: the heaps of a node do not fit into %llu TiB", heap_bytes, (unsigned long long)limit >> 40);
    return -ENOMEM;
}

/* A new file with an empty control block. The descriptor, or -errno. */
static int create_node_file(const struct shi_boot *boot, const struct shi_shm_params *params)
{
    size_t bytes = control_bytes(boot, params);
    uint64_t limit = file_bytes();
    if (bytes > limit)
        return too_large(params->heap_bytes, limit);
    int fd = unnamed_file();
    if (fd < 0)
        return fd;
    if (ftruncate(fd, (off_t)limit))
        return shi_shm_failed("ftruncate of the node's shared memory");
    struct shi_shm_control *c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (c == MAP_FAILED)
        return shi_shm_failed("mmap of the node's control block");
    c->reserved_off = bytes;
    c->file_bytes = limit;
    c->magic = SHI_SHM_MAGIC;
    strncpy(c->library, PACKAGE_VERSION, sizeof c->library - 1);
    if (boot->n_local < boot->n_pes)
        params->fill_peers((char *)c + peers_off(boot), boot->n_pes);
    munmap(c, bytes);
    return fd;
}

/* The first local PE makes the file, the others open it after a fence. The descriptor, or -errno. */
static int open_node_file(const struct shi_boot *boot, const struct shi_shm_params *params)
{
    char key[] = "fulmar.node";
    struct rendezvous r = {.pid = getpid(), .fd = -1};
    int first = boot->local_index == 0, err = 0;
    if (first) {
        r.fd = create_node_file(boot, params);
        if (r.fd < 0)
            return r.fd;
        err = boot->ops->publish(key, &r, sizeof r);
    }
    if (!err)
        err = shi_boot_fence(boot, "waiting for all PEs to call shmem_init"); /* servers may answer "not found" before the key is published */
    if (!err && !first)
        err = shi_boot_lookup(boot, boot->local_pe[0], key, &r, sizeof r);
    if (err)
        return err;
    return first ? r.fd : shi_peer_fd_open(r.pid, r.fd);
}

/* The node's PEs and this one among them, for the barrier. */
static struct {
    const int *pe;
    int n, me;
    uint32_t waits; /* how many waits for all of them this PE has begun */
    uint32_t barriers; /* how many calls of node_barrier */
} local;

/* The PEs of the node that have not come so far: "PE 3 (pid 77, stopped)". */
static void name_missing(char *text, size_t bytes, const void *arg)
{
    const struct shi_shm_control *c = arg;
    size_t at = 0;
    for (int i = 0; i < local.n && at + 64 < bytes; i++) {
        const struct shi_shm_region *r = &c->region[i];
        if (__atomic_load_n(&r->waits, __ATOMIC_RELAXED) >= local.waits)
            continue;
        at += (size_t)snprintf(text + at, bytes - at, "%sPE %d", at ? ", " : "", local.pe[i]);
        if (r->pid)
            at += (size_t)snprintf(text + at, bytes - at, " (pid %d%s)", r->pid, shi_startup_stopped(r->pid) ? ", stopped" : "");
    }
    if (at)
        snprintf(text + at, bytes - at, at + 64 < bytes ? " not there" : ", ... not there");
}

/* A wait for all PEs of the node begins. */
static void wait_for_local(struct shi_shm_control *c, const char *text)
{
    static struct shi_phase phase = {.missing = name_missing};
    phase.text = text;
    phase.arg = c;
    phase.patience_s = 1 + (local.me != 0);
    __atomic_store_n(&c->region[local.me].waits, ++local.waits, __ATOMIC_RELAXED);
    shi_startup_phase(&phase);
}

void shi_shm_phase(const struct shi_shm *s, const char *text)
{
    wait_for_local((struct shi_shm_control *)s->base, text);
}

/* Sleep until all PEs of the node have called this as often as this PE; PEs that still start need the cores. */
static void node_barrier(struct shi_shm_control *c)
{
    wait_for_local(c, "waiting for the PEs of this node");
    uint32_t all = (uint32_t)local.n * ++local.barriers, seen = __atomic_add_fetch(&c->arrived, 1, __ATOMIC_ACQ_REL); /* R1, A1 */
    if (seen == all)
        syscall(SYS_futex, &c->arrived, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    while ((seen = __atomic_load_n(&c->arrived, __ATOMIC_ACQUIRE)) < all) /* A1 */
        syscall(SYS_futex, &c->arrived, FUTEX_WAIT, seen, NULL, NULL, 0);
    shi_startup_phase(NULL);
}

/* Reserve this PE's range of the file and fill it. */
static int bring_region(struct shi_shm_control *c, const struct shi_boot *boot, const struct shi_shm_params *params, int fd,
                        uintptr_t *heap_lo)
{
    size_t am = shi_round_up(params->sync_bytes, SHI_PAGE_BYTES);
    size_t head = shi_round_up(am + params->am_bytes, SHI_HUGE_BYTES);
    size_t heap = shi_round_up(params->heap_bytes, SHI_HUGE_BYTES);
    size_t total = head + heap + shi_round_up(params->data_bytes, SHI_HUGE_BYTES);
    uint64_t off = __atomic_fetch_add(&c->reserved_off, total, __ATOMIC_RELAXED);
    if (total > c->file_bytes || off + total > c->file_bytes)
        return too_large(params->heap_bytes, c->file_bytes);
    struct shi_shm_region *r = &c->region[boot->local_index];
    *r = (struct shi_shm_region){.sync_off = off, .am_off = off + am, .heap_off = off + head,
                                 .data_off = off + head + heap, .heap_bytes = params->heap_bytes,
                                 .data_bytes = params->data_bytes, .exe_id = params->exe_id, .pe = boot->pe, .pid = getpid(),
                                 .settings = params->settings};
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        memcpy(r->cpus, &set, sizeof r->cpus);
    int err = shi_shm_map_heap(fd, params, r->heap_off, boot->n_local, heap_lo);
    return !err && params->data_bytes ? params->remap(fd, r->data_off) : err;
}

/* The cores of all PEs together; how many. */
static int all_cpus(const struct shi_shm_region *r, int n, uint64_t all[SHI_CPU_WORDS])
{
    int cpus = 0;
    for (size_t w = 0; w < SHI_CPU_WORDS; w++) {
        all[w] = 0;
        for (int i = 0; i < n; i++)
            all[w] |= r[i].cpus[w];
        cpus += __builtin_popcountll(all[w]);
    }
    return cpus;
}

/* More PEs than cores that any of them may use? Masks beyond 1024 cores count as enough cores. */
static int is_oversubscribed(const struct shi_shm_region *r, int n)
{
    uint64_t all[SHI_CPU_WORDS];
    int cpus = all_cpus(r, n, all);
    return cpus > 0 && n > cpus;
}

void shi_shm_spread(const struct shi_shm *s)
{
    uint64_t all[SHI_CPU_WORDS];
    if (all_cpus(s->region, s->n, all))
        sched_setaffinity(0, sizeof all, (const cpu_set_t *)all);
}

void shi_shm_barrier(const struct shi_shm *s)
{
    node_barrier((struct shi_shm_control *)s->base);
}

/* Compare the settings of the node's PEs with the first one's. 0, or -EINVAL after one line of the first PE. */
static int compare_settings(const struct shi_shm_control *c)
{
    for (int i = 1; i < local.n; i++) {
        const char *name = shi_config_differs(&c->region[i].settings, &c->region[0].settings);
        if (!name)
            continue;
        if (local.me != 0)
            sleep(SHI_END_LAUNCHER_S); /* the first PE ends the job before */
        shi_log_error("PE %d and PE %d have different values of %s: all PEs need the same", local.pe[0], local.pe[i], name);
        return -EINVAL;
    }
    return 0;
}

int shi_shm_up(const struct shi_boot *boot, const struct shi_shm_params *params, struct shi_shm *out)
{
    struct shi_shm s = {.n = boot->n_local};
    local.pe = boot->local_pe, local.n = boot->n_local, local.me = boot->local_index;
    s.fd = boot->is_new ? shi_shm_find_file(boot) : open_node_file(boot, params);
    if (s.fd < 0)
        return s.fd;
    size_t head = control_bytes(boot, params);
    struct shi_shm_control *c = mmap(NULL, head, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
    if (c == MAP_FAILED)
        return shi_shm_failed("mmap of the node's control block");
    if (c->magic != SHI_SHM_MAGIC || strncmp(c->library, PACKAGE_VERSION, sizeof c->library) != 0) {
        shi_log_error("PE %d has Fulmar %.28s, this PE has %s: the PEs of a node need one version", boot->local_pe[0],
                      c->magic == SHI_SHM_MAGIC ? c->library : "of another version", PACKAGE_VERSION);
        return -EPROTO;
    }
    int err = boot->is_new ? shi_shm_take_place(c, boot, params, s.fd, &s.heap_lo) : bring_region(c, boot, params, s.fd, &s.heap_lo);
    if (err)
        return err; /* the caller ends the job, which frees everything */
    if (!boot->is_new)
        node_barrier(c);
    err = compare_settings(c);
    if (err)
        return err;
    s.bytes = __atomic_load_n(&c->reserved_off, __ATOMIC_RELAXED);
    munmap(c, head);
    s.base = mmap(NULL, s.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s.fd, 0);
    if (s.base == MAP_FAILED)
        return shi_shm_no_addresses(params->heap_bytes, s.n);
    s.record = s.base + records_off(s.n);
    s.peers_off = peers_off(boot);
    madvise(s.base, s.bytes, MADV_DONTDUMP); /* a core file needs this PE's heap, not all heaps */
    s.region = ((struct shi_shm_control *)s.base)->region;
    shi_doorbell_up(s.base + doorbells_off(s.n), s.n, boot->local_index, s.base);
    s.oversubscribed = is_oversubscribed(s.region, s.n);
    *out = s;
    return 0;
}

void shi_shm_drop_heap(const struct shi_shm *s, size_t from, size_t heap_bytes)
{
    if (from < heap_bytes)
        madvise((char *)s->heap_lo + from, heap_bytes - from, MADV_REMOVE);
}

/* Released ranges of this PE; under the collective order of the calls. */
enum { SPARES = 64 };
static struct {
    uint64_t off;
    size_t bytes;
} spare[SPARES];

void shi_shm_leave(struct shi_shm *s, int local_index)
{
    if (!s->base)
        return;
    size_t heap = shi_shm_heap_mapping(s->region[local_index].heap_bytes);
    shi_doorbell_leave();
    munmap((void *)s->heap_lo, heap);
    munmap(s->base, s->bytes);
    close(s->fd);
    memset(&local, 0, sizeof local);
    memset(spare, 0, sizeof spare); /* of this job's file */
    *s = (struct shi_shm){.fd = -1};
}

static int map_own(void *at, size_t bytes, int fd, uint64_t off)
{
    void *p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, (off_t)off);
    return p == MAP_FAILED ? -errno : 0;
}

int shi_shm_reserve(const struct shi_shm *s, size_t bytes, uint64_t *off)
{
    struct shi_shm_control *c = (struct shi_shm_control *)s->base;
    size_t all = shi_round_up(bytes, SHI_HUGE_BYTES);
    for (int i = 0; i < SPARES; i++)
        if (spare[i].bytes == all) {
            *off = spare[i].off;
            spare[i].bytes = 0;
            return 0;
        }
    uint64_t at = __atomic_load_n(&c->reserved_off, __ATOMIC_RELAXED);
    do
        if (all > c->file_bytes - at)
            return -ENOMEM;
    while (!__atomic_compare_exchange_n(&c->reserved_off, &at, at + all, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *off = at;
    return 0;
}

void shi_shm_release(const struct shi_shm *s, uint64_t off, size_t bytes)
{
    size_t all = shi_round_up(bytes, SHI_HUGE_BYTES);
    int i = 0;
    if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)all))
        return; /* its pages stay, so it cannot serve again */
    while (i < SPARES && spare[i].bytes)
        i++;
    if (i < SPARES) {
        spare[i].off = off;
        spare[i].bytes = all;
    }
}

void *shi_shm_map(const struct shi_shm *s, void *at, uint64_t off, size_t bytes, int own)
{
    int flags = (own ? MAP_PRIVATE : MAP_SHARED) | (at ? MAP_FIXED : 0) | MAP_NORESERVE, aligned = !at && bytes >= SHI_HUGE_BYTES;
    void *p = aligned ? shi_shm_map_aligned(s->fd, off, bytes) : mmap(at, bytes, PROT_READ | PROT_WRITE, flags, s->fd, (off_t)off);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, at ? MADV_DODUMP : MADV_DONTDUMP);
    return p;
}

int shi_shm_forked(const struct shi_shm *s, int local)
{
    const struct shi_shm_region *own = &s->region[local];
    int err = own->heap_bytes ? map_own((void *)s->heap_lo, own->heap_bytes, s->fd, own->heap_off) : 0;
    return err ? err : map_own(s->base, s->bytes, s->fd, 0);
}

int shi_shm_aborted(const struct shi_shm *s)
{
    return __atomic_load_n(&((struct shi_shm_control *)s->base)->abort, __ATOMIC_RELAXED);
}

int shi_shm_abort(const struct shi_shm *s, int status)
{
    int32_t none = 0;
    return __atomic_compare_exchange_n(&((struct shi_shm_control *)s->base)->abort, &none, (status & 0xff) + 1, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}
