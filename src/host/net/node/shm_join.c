/*
 * shm_join.c - see shm_join.h, and struct shi_shm_join for the words.
 *
 * The range keeps its place in the file, so what others have mapped and the offsets that they know stay right.
 */
#include "host/net/node/shm_join.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/policy/limits.h"
#include "host/util/log.h"
#include "host/util/peer_fd.h"

int shi_shm_find_file(const struct shi_boot *boot)
{
    for (int i = 0; i < boot->n_local; i++) {
        struct shi_shm_file f;
        if (i == boot->local_index || boot->ops->lookup(boot->local_pe[i], SHI_SHM_FILE_NAME, &f, sizeof f))
            continue;
        int fd = shi_peer_fd_try(f.pid, f.fd);
        if (fd >= 0)
            return fd;
    }
    shi_log_error("no PE lives that could take this process in");
    return -EOWNERDEAD;
}

static int lives(int pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int is = fd >= 0 && poll(&p, 1, 0) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

/* Processes that wait let in no other one. */
static int can_let_in(const struct shi_shm_region *r)
{
    return __atomic_load_n(&r->join.who, __ATOMIC_RELAXED) != shi_shm_joiner(r->pid, SHI_JOIN_WAITS) && lives(r->pid);
}

/* 0; -ECANCELED: the others end or have ended; -EOWNERDEAD: all have died. */
static int look_at_job(const struct shi_shm_control *c, int n, int me)
{
    int alive = 0;
    for (int i = 0; i < n; i++) {
        if (__atomic_load_n(&c->region[i].left_job, __ATOMIC_RELAXED))
            return -ECANCELED;
        alive |= i != me && can_let_in(&c->region[i]);
    }
    return __atomic_load_n(&c->abort, __ATOMIC_RELAXED) ? -ECANCELED : alive ? 0 : -EOWNERDEAD;
}

/* 0, or -errno as look_at_job; -EEXIST: another process has the place. */
static int wait_for_go(struct shi_shm_control *c, int n, int me)
{
    struct shi_shm_join *j = &c->region[me].join;
    const uint64_t waits = shi_shm_joiner(getpid(), SHI_JOIN_WAITS), go = shi_shm_joiner(getpid(), SHI_JOIN_GO);
    const struct timespec limit = {.tv_nsec = SHI_JOIN_LOOK_NS};
    __atomic_store_n(&j->who, waits, __ATOMIC_RELEASE);
    for (uint64_t who; (who = __atomic_load_n(&j->who, __ATOMIC_ACQUIRE)) != go;) { /* A2 */
        int err = who == waits ? look_at_job(c, n, me) : -EEXIST;
        if (err)
            return err;
        syscall(SYS_futex, &j->who, FUTEX_WAIT, (uint32_t)waits, &limit, NULL, 0);
    }
    return 0;
}

int shi_shm_take_place(struct shi_shm_control *c, const struct shi_boot *boot, const struct shi_shm_params *params, int fd, uintptr_t *heap_lo)
{
    struct shi_shm_region *r = &c->region[boot->local_index];
    uint64_t end = r->data_off + shi_round_up(r->data_bytes, SHI_HUGE_BYTES);
    if (r->exe_id != params->exe_id || r->heap_bytes != params->heap_bytes || r->data_bytes != params->data_bytes) {
        shi_log_error("this process has another program, or another SHMEM_SYMMETRIC_SIZE, than the PE whose place it takes");
        return -EINVAL;
    }
    int by_id = boot->replaces == SHI_REPLACES_BY_ID; /* by a launcher, it has seen the PE die */
    int err = by_id && lives(r->pid) ? -EEXIST : wait_for_go(c, boot->n_local, boot->local_index);
    if (err == -EEXIST)
        shi_log_error("another process is PE %d, or takes its place", boot->pe);
    else if (err == -ECANCELED)
        shi_log_error("warning: the job ends before this process could take the place of PE %d", boot->pe);
    else if (err)
        shi_log_error("all other PEs have died before this process could take the place of PE %d", boot->pe);
    if (err)
        return err;
    r->left_job = 0;
    r->held = r->waited_ns = 0;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->sync_off, (off_t)(end - r->sync_off)))
        return shi_shm_failed("fallocate of the node's shared memory");
    err = shi_shm_map_heap(fd, params, r->heap_off, boot->n_local, heap_lo);
    return !err && params->data_bytes ? params->remap(fd, r->data_off) : err;
}
