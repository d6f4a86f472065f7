/*
 * trace.c - events of this PE, in a mapped file, so that they outlive a PE that is killed.
 *
 * Threads add under a lock: tracing is slow anyway, and the file then has the events in the order of their ends.
 */
#include "host/observe/trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/coll/team.h"
#include "host/ops/state.h"
#include "host/util/cancel.h"
#include "host/util/log.h"
#include "host/util/own_file.h"

enum { CHUNK_EVENTS = 16384 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shi_trace_head *head; /* NULL: no trace */
static struct shi_trace_event *events;
static size_t mapped_bytes;
static uint64_t backed; /* events that the file has room for now */
static int fd = -1;
static int full; /* -errno of the first failure to grow the file */

static int64_t to_real_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (int64_t)shi_now_ns();
}

static size_t bytes_of(uint64_t n)
{
    return SHI_TRACE_HEAD_BYTES + n * sizeof *events;
}

/* Grow the file by a chunk. Where the disk is full, the newest events replace the oldest from now on. */
static void grow(void)
{
    uint64_t more = head->room - backed < CHUNK_EVENTS ? head->room - backed : CHUNK_EVENTS;
    int err = posix_fallocate(fd, (off_t)bytes_of(backed), (off_t)(more * sizeof *events));
    if (!err) {
        backed += more;
        return;
    }
    head->room = backed;
    full = -err;
}

static int part_map(const char *path, uint64_t room)
{
    char *name = shi_trace_part_name(path, shi_world.pe);
    fd = name ? shi_own_file_open(name, O_RDWR | O_TRUNC) : -ENOMEM;
    int err = fd < 0 ? -fd : posix_fallocate(fd, 0, (off_t)bytes_of(CHUNK_EVENTS));
    void *p = MAP_FAILED;
    mapped_bytes = bytes_of(room);
    if (!err && (p = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0)) == MAP_FAILED)
        err = errno;
    if (err && fd >= 0) {
        close(fd);
        unlink(name);
    }
    free(name);
    if (err)
        return -err;
    events = (void *)((char *)p + SHI_TRACE_HEAD_BYTES);
    head = p;
    backed = CHUNK_EVENTS;
    return 0;
}

static uint16_t thread_number(void)
{
    static uint16_t threads;
    static _Thread_local uint16_t own; /* from 1 */
    if (!own)
        own = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    return own;
}

/* Where the program was compiled with --race, the trace has its races, too. */
static void take_races(void)
{
    static const struct shi_trace_calls calls = {shi_trace_add, thread_number, shi_now_ns};
    void (*races)(const struct shi_trace_calls *) = (void (*)(const struct shi_trace_calls *))dlsym(RTLD_DEFAULT, SHI_TRACE_RACES);
    if (races)
        races(&calls);
}

int shi_trace_up(const char *path, size_t bytes)
{
    uint64_t room = bytes / sizeof *events > CHUNK_EVENTS ? bytes / sizeof *events : CHUNK_EVENTS;
    int err = part_map(path, room);
    if (err)
        return err;
    *head = (struct shi_trace_head){.magic = {'F', 'U', 'L', 'M', 'A', 'R', 'T', 'R'}, .version = SHI_TRACE_VERSION,
                                    .event_bytes = sizeof *events, .pe = shi_world.pe, .n_pes = shi_world.n_pes,
                                    .node = shi_world.shm.region[0].pe, .start_ns = shi_now_ns(),
                                    .to_real_ns = to_real_ns(), .room = room};
    gethostname(head->host, sizeof head->host - 1);
    take_races();
    return 0;
}

void shi_trace_compare_clocks(int when)
{
    struct shi_trace_sync *s = &head->sync[when];
    for (uint32_t i = 0; i < SHI_TRACE_ROUNDS; i++) {
        s->round[i].enter_ns = shi_now_ns();
        shi_team_barrier("SHMEM_TRACE", &shi_team_world);
        s->round[i].exit_ns = shi_now_ns();
    }
    s->n = SHI_TRACE_ROUNDS;
}

void shi_trace_add(const char *routine, const struct shi_trace_event *e)
{
    SHI_UNCANCELLED;
    pthread_mutex_lock(&lock);
    if (head) {
        uint64_t i = head->written % head->room;
        if (i == backed) {
            grow();
            i = head->written % head->room;
        }
        events[i] = *e;
        events[i].thread = e->thread ? e->thread : thread_number();
        strncpy(events[i].name, routine, sizeof e->name - 1);
        __atomic_store_n(&head->written, head->written + 1, __ATOMIC_RELEASE); /* a reader after a kill sees whole events */
    }
    pthread_mutex_unlock(&lock);
}

int shi_trace_down(void)
{
    pthread_mutex_lock(&lock);
    int err = full;
    full = 0;
    if (head) {
        munmap(head, mapped_bytes);
        close(fd);
        head = NULL;
        events = NULL;
        backed = mapped_bytes = 0;
        fd = -1;
    }
    pthread_mutex_unlock(&lock);
    return err;
}

int shi_trace_join_all(const char *path)
{
    int n_pes;
    uint64_t lost;
    int found = shi_trace_join(path, &n_pes, &lost);
    if (found < 0)
        return found;
    if (found < n_pes)
        shi_log_error("SHMEM_TRACE=%s: only %d of %d parts are seen from here", path, found, n_pes);
    else if (lost)
        shi_log_error("SHMEM_TRACE=%s: the first %lu events were overwritten; SHMEM_TRACE=%s:SIZE gives more room than 256M", path,
                      (unsigned long)lost, path);
    return 0;
}
