/* command.c - commands: making, copying, and the execution of copies, fills and frees. */
#include "cuda_cpu/command.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/owned.h"
#include "ze_cpu/clocks.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/mem.h"

struct cc_command *cc_command_new(enum cc_what what)
{
    struct cc_command *c = calloc(1, sizeof *c);
    if (c)
        c->what = what;
    return c;
}

void cc_command_free(struct cc_command *c)
{
    if (c) {
        free(c->launch);
        cc_owned_drop(c->owned);
        zc_clock_drop(&c->clock);
    }
    free(c);
}

struct zc_launch *cc_launch_new(const struct zc_module *m, const struct zc_kernel_info *info, void **args, unsigned shared_bytes)
{
    size_t bytes = 0, head = (sizeof(struct zc_launch) + 15) & ~(size_t)15;
    for (uint32_t k = 0; k < info->nargs; k++)
        bytes += (info->arg[k].size + 15u) & ~(size_t)15;
    uint8_t *block = calloc(1, head + bytes), *at = block + head;
    if (!block)
        return NULL;
    struct zc_launch *l = (struct zc_launch *)block;
    l->m = m;
    l->k = info;
    for (uint32_t k = 0; k + 1 < info->nargs; k++) {
        memcpy(at, args[k], info->arg[k].size);
        l->arg[k] = at;
        at += (info->arg[k].size + 15u) & ~(size_t)15;
    }
    l->local[info->nargs - 1] = shared_bytes;
    return l;
}

struct cc_command *cc_command_copy(const struct cc_command *c)
{
    struct cc_command *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *c;
    copy->clock = NULL;
    if (c->owned)
        cc_owned_hold(c->owned);
    if (!c->launch)
        return copy;
    const struct zc_launch *l = c->launch;
    copy->launch = cc_launch_new(l->m, l->k, (void **)(uintptr_t)l->arg, (unsigned)l->local[l->k->nargs - 1]);
    if (!copy->launch) {
        free(copy);
        return NULL;
    }
    memcpy(copy->launch->group, l->group, sizeof l->group);
    memcpy(copy->launch->count, l->count, sizeof l->count);
    copy->launch->cooperative = l->cooperative;
    return copy;
}

typedef uint32_t __attribute__((may_alias)) word32;
typedef uint64_t __attribute__((may_alias)) word64;

/* Copy to memory that kernels may poll: one aligned word of 4 or 8 bytes is stored atomically, with release order. */
static void move_bytes(void *to, const void *from, size_t bytes)
{
    uint32_t w4;
    uint64_t w8;
    if (bytes == sizeof w8 && !((uintptr_t)to % sizeof w8)) {
        memcpy(&w8, from, sizeof w8);
        __atomic_store_n((word64 *)to, w8, __ATOMIC_RELEASE);
    } else if (bytes == sizeof w4 && !((uintptr_t)to % sizeof w4)) {
        memcpy(&w4, from, sizeof w4);
        __atomic_store_n((word32 *)to, w4, __ATOMIC_RELEASE);
    } else {
        memmove(to, from, bytes);
    }
}

void cc_command_copy_bytes(const struct cc_command *c)
{
    char *to = zc_mem_device_view(c->to);
    const char *from = zc_mem_device_view((void *)(uintptr_t)c->from);
    for (size_t z = 0; z <= c->planes; z++)
        for (size_t y = 0; y <= c->rows; y++)
            move_bytes(to + z * c->to_plane + y * c->to_pitch, from + z * c->from_plane + y * c->from_pitch, c->bytes);
}

void cc_command_fill(const struct cc_command *c)
{
    char *to = zc_mem_device_view(c->to);
    for (size_t y = 0; y <= c->rows; y++, to += c->to_pitch) {
        if (c->element == 1)
            memset(to, (int)c->value, c->bytes);
        for (size_t x = 0; c->element != 1 && x < c->bytes; x += c->element)
            memcpy(to + x, &c->value, c->element);
    }
}

CUresult cc_command_free_memory(const struct cc_command *c)
{
    return !c->owned && zc_MemFree(NULL, c->to) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
