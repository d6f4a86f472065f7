/*
 * event.c - events, event pools and fences: flags that threads wait for by futex. A pool is a memfd, so that another
 * process can open it by an IPC handle of the same form as for memory.
 *
 *   word          written by                  read by   order
 *   flag.value    zc_flag_set                 anyone    F1 -> F2
 *   flag.waiters  waiting threads             F1        seq_cst, with value: either F1 sees the waiter or the waiter sees F1
 *
 * F1 (store, seq_cst) -> F2 (load, seq_cst): a thread that sees the event sees the effects of the command. began_ns and
 * ended_ns are written before F1 and read after F2.
 */
#include "ze_cpu/event.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ze_cpu/clocks.h"
#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"

void zc_flag_set(struct zc_flag *f, enum zc_flag_value v)
{
    atomic_store(&f->value, (uint32_t)v); /* F1 */
    if (v != FLAG_CLEAR && atomic_load(&f->waiters))
        syscall(SYS_futex, &f->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

enum zc_flag_value zc_flag_get(struct zc_flag *f)
{
    return (enum zc_flag_value)atomic_load(&f->value); /* F2 */
}

static ze_result_t result(enum zc_flag_value v)
{
    return v == FLAG_DONE ? ZE_RESULT_SUCCESS : v == FLAG_LOST ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_NOT_READY;
}

ze_result_t zc_flag_wait(struct zc_flag *f, uint64_t timeout_ns)
{
    if (zc_flag_get(f) || !timeout_ns)
        return result(zc_flag_get(f));
    uint64_t now = zc_now_ns(), end = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
    atomic_fetch_add(&f->waiters, 1);
    while (!zc_flag_get(f) && now < end) {
        uint64_t left = end - now;
        struct timespec ts = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
        syscall(SYS_futex, &f->value, FUTEX_WAIT, FLAG_CLEAR, end == UINT64_MAX ? NULL : &ts, NULL, 0);
        now = end == UINT64_MAX ? now : zc_now_ns();
    }
    atomic_fetch_sub(&f->waiters, 1);
    return result(zc_flag_get(f));
}

/* The calling thread is after what set the flag. */
static ze_result_t reached(ze_result_t r, void *const *clock)
{
    if (r != ZE_RESULT_NOT_READY)
        zc_clock_reach(clock);
    return r;
}

/* ---- pools ------------------------------------------------------------------------------------------------------ */

struct _ze_event_pool_handle_t {
    struct zc_event_state *states;
    _Atomic bool *taken; /* of each index: an event of this process has it */
    uint32_t count;
    int fd;
    bool opened; /* by its IPC handle */
};

static ze_result_t pool_map(int fd, uint32_t count, ze_event_pool_handle_t *out)
{
    struct _ze_event_pool_handle_t *p = malloc(sizeof *p);
    _Atomic bool *taken = calloc(count, sizeof *taken);
    void *at = p && taken ? mmap(NULL, count * sizeof *p->states, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(p);
        free((void *)taken);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    *p = (struct _ze_event_pool_handle_t){at, taken, count, fd, false};
    *out = p;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_EventPoolCreate(ze_context_handle_t c, const ze_event_pool_desc_t *desc, uint32_t n,
                               ze_device_handle_t *devices, ze_event_pool_handle_t *out)
{
    (void)c, (void)n, (void)devices;
    if (!desc->count || desc->count > 1u << 20)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    int fd = memfd_create("ze_cpu events", MFD_CLOEXEC);
    ze_result_t r = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (fd >= 0 && !ftruncate(fd, (off_t)(desc->count * sizeof(struct zc_event_state))))
        r = pool_map(fd, desc->count, out);
    if (r && fd >= 0)
        close(fd);
    return r;
}

ze_result_t zc_EventPoolDestroy(ze_event_pool_handle_t p)
{
    munmap(p->states, p->count * sizeof *p->states);
    close(p->fd);
    free((void *)p->taken);
    free(p);
    return ZE_RESULT_SUCCESS;
}

struct pool_ipc {
    int32_t fd;
    uint32_t count;
    uint64_t magic;
};
static const uint64_t pool_magic = 0x6c6f6f705f657aull;

ze_result_t zc_EventPoolGetIpcHandle(ze_event_pool_handle_t p, ze_ipc_event_pool_handle_t *out)
{
    struct pool_ipc h = {p->fd, p->count, pool_magic};
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_EventPoolOpenIpcHandle(ze_context_handle_t c, ze_ipc_event_pool_handle_t handle,
                                      ze_event_pool_handle_t *out)
{
    (void)c;
    struct pool_ipc h;
    struct stat st;
    memcpy(&h, &handle, sizeof h);
    if (h.magic != pool_magic || fstat(h.fd, &st) || (uint64_t)st.st_size < h.count * sizeof(struct zc_event_state))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    int fd = fcntl(h.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    ze_result_t r = pool_map(fd, h.count, out);
    if (r)
        close(fd);
    else
        (*out)->opened = true;
    return r;
}

ze_result_t zc_EventPoolCloseIpcHandle(ze_event_pool_handle_t p)
{
    return zc_EventPoolDestroy(p);
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* Level Zero allows one event an index. AdaptiveCpp 24.06 makes two with index 0 in each pool but the first: on one flag, the second
 * event ends with the first one's command. Here it has a flag of its own; on a GPU it may have none. */
static void say_taken(uint32_t index)
{
    static _Atomic bool said;
    if (zc_config.check && !atomic_exchange(&said, true))
        fprintf(stderr, "ze_cpu: zeEventCreate: another event has index %u of this pool; on a GPU both may be one\n", index);
}

ze_result_t zc_EventCreate(ze_event_pool_handle_t p, const ze_event_desc_t *desc, ze_event_handle_t *out)
{
    if (desc->index >= p->count)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct _ze_event_handle_t *e = malloc(sizeof *e);
    if (!e)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *e = (struct _ze_event_handle_t){.state = &p->states[desc->index]};
    if (!p->opened) {
        if (atomic_exchange(&p->taken[desc->index], true)) {
            e->state = &e->own;
            say_taken(desc->index);
        } else
            e->taken = &p->taken[desc->index];
        zc_flag_set(&e->state->flag, FLAG_CLEAR); /* an earlier event of this index may have been destroyed */
    }
    *out = e;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_EventDestroy(ze_event_handle_t e)
{
    if (e->taken)
        atomic_store(e->taken, false);
    zc_clock_drop(&e->clock);
    free(e);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_EventHostSignal(ze_event_handle_t e)
{
    zc_clock_now(&e->clock);
    zc_flag_set(&e->state->flag, FLAG_DONE);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_EventHostSynchronize(ze_event_handle_t e, uint64_t timeout)
{
    return reached(zc_flag_wait(&e->state->flag, timeout), &e->clock);
}

ze_result_t zc_EventQueryStatus(ze_event_handle_t e)
{
    return reached(result(zc_flag_get(&e->state->flag)), &e->clock);
}

ze_result_t zc_EventHostReset(ze_event_handle_t e)
{
    zc_clock_drop(&e->clock);
    zc_flag_set(&e->state->flag, FLAG_CLEAR);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_EventQueryKernelTimestamp(ze_event_handle_t e, ze_kernel_timestamp_result_t *out)
{
    if (zc_flag_get(&e->state->flag) == FLAG_CLEAR)
        return ZE_RESULT_NOT_READY;
    out->global = (ze_kernel_timestamp_data_t){e->state->began_ns, e->state->ended_ns};
    out->context = out->global;
    return ZE_RESULT_SUCCESS;
}

/* ---- fences ----------------------------------------------------------------------------------------------------- */

ze_result_t zc_FenceCreate(ze_command_queue_handle_t q, const ze_fence_desc_t *desc, ze_fence_handle_t *out)
{
    (void)q;
    struct _ze_fence_handle_t *f = calloc(1, sizeof *f);
    if (!f)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (desc && desc->flags & ZE_FENCE_FLAG_SIGNALED)
        zc_flag_set(&f->flag, FLAG_DONE);
    *out = f;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_FenceDestroy(ze_fence_handle_t f)
{
    zc_clock_drop(&f->clock);
    free(f);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_FenceHostSynchronize(ze_fence_handle_t f, uint64_t timeout)
{
    return reached(zc_flag_wait(&f->flag, timeout), &f->clock);
}

ze_result_t zc_FenceQueryStatus(ze_fence_handle_t f)
{
    return reached(result(zc_flag_get(&f->flag)), &f->clock);
}

ze_result_t zc_FenceReset(ze_fence_handle_t f)
{
    zc_flag_set(&f->flag, FLAG_CLEAR);
    return ZE_RESULT_SUCCESS;
}
