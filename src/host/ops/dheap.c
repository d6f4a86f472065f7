/* dheap.c - the device symmetric heap: its blocks, and copies to and from its memory. */
#include "host/ops/dheap.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "device/device.h"
#include "host/ops/heap.h"
#include "host/util/copying.h"
#include "host/util/log.h"

#define X(WORD, NAME) #NAME,
const char *const shi_dheap_way_name[] = {SHI_FOR_EACH_DHEAP_WAY(X)};
#undef X

static struct shi_dheap own;
static int n_by_way[SHI_DHEAP_WAYS];

void shi_dheap_set(const struct shi_dheap *d)
{
    own = *d;
    if (own.base)
        memset(n_by_way, 0, sizeof n_by_way);
    for (int i = 0; own.base && i < shi_world.n_pes; i++)
        n_by_way[own.way[i]]++;
}

void shi_dheap_leave(void)
{
    memset(n_by_way, 0, sizeof n_by_way);
}

void shi_dheap_count(int n[SHI_DHEAP_WAYS])
{
    memcpy(n, n_by_way, sizeof n_by_way);
}

void shi_dheap_describe_ways(char *text, size_t bytes)
{
    int at = 0;
    text[0] = 0;
    for (int k = 0; k < SHI_DHEAP_WAYS; k++)
        if (n_by_way[k])
            at += snprintf(text + at, bytes - (size_t)at, "%s %d by %s", at ? "," : "", n_by_way[k], shi_dheap_way_name[k]);
}

void *shi_dheap_of(int pe)
{
    return own.mapped[pe];
}

void *shi_dheap_direct(int pe)
{
    return own.way[pe] == SHI_DHEAP_COPIES ? NULL : own.mapped[pe];
}

int shi_dheap_ring_updates(void)
{
    return shi_world.dev_private && own.indirect;
}

int shi_dheap_get(size_t bytes, size_t align, void **addr)
{
    size_t off;
    int err = shi_heap_get(own.blocks, bytes, align, &off);
    if (!err)
        *addr = own.base + off;
    return err;
}

struct shi_heap *shi_dheap_blocks(void)
{
    return own.blocks;
}

int shi_dheap_put(void *addr)
{
    return own.blocks && shi_dheap_holds(addr, 1) ? shi_heap_put(own.blocks, (size_t)((char *)addr - own.base)) : -EINVAL;
}

int shi_dheap_holds(const void *addr, size_t bytes)
{
    uintptr_t off = (uintptr_t)addr - (uintptr_t)own.base;
    return own.base && off < own.bytes && bytes <= own.bytes - off;
}

int shi_dheap_is_private(const void *addr)
{
    if (!shi_world.dev_private)
        return 0;
    for (int i = 0; i < shi_world.shm.n; i++) {
        const char *base = own.mapped[shi_world.shm.region[i].pe];
        if (base && (uintptr_t)addr - (uintptr_t)base < own.bytes)
            return 1;
    }
    return shi_added_is_device(addr, 1);
}

uint64_t *shi_dheap_word_lock(int pe)
{
    return shi_shm_held(&shi_world.shm, shi_world.peer[pe].rank);
}

void shi_dheap_copy(const char *routine, void *to, const void *from, size_t bytes)
{
    struct shi_copying *c = shi_copying_begin(routine, bytes);
    int err = shi_device->copy(to, from, bytes);
    shi_copying_end(c);
    if (err)
        shi_die(routine, "the device failed to copy %zu bytes from %p to %p: %s", bytes, from, to, strerror(-err));
}

void shi_dheap_move(void *to, const void *from, size_t bytes)
{
    if (own.host_access)
        memcpy(to, from, bytes);
    else
        shi_dheap_copy("message", to, from, bytes);
}

void shi_dheap_copy_strided(const char *routine, char *to, const char *from, const struct shi_strided *s)
{
    size_t block = s->block * s->elem;
    if (!shi_dheap_is_private(to) && !shi_dheap_is_private(from)) {
        shi_copy_strided(to, from, s);
        return;
    }
    for (size_t i = 0; i < s->count && block; i++)
        shi_dheap_copy(routine, to + i * (size_t)s->dst * s->elem, from + i * (size_t)s->sst * s->elem, block);
}

void shi_dheap_clear(const char *routine, void *addr, size_t bytes)
{
    static const char zeros[65536];
    if (own.host_access) {
        memset(addr, 0, bytes);
        return;
    }
    if (shi_device->clear) {
        struct shi_copying *c = shi_copying_begin(routine, bytes);
        int err = shi_device->clear(addr, bytes);
        shi_copying_end(c);
        if (err)
            shi_die(routine, "the device cannot clear %zu bytes of its memory", bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done += sizeof zeros)
        shi_dheap_copy(routine, (char *)addr + done, zeros, bytes - done < sizeof zeros ? bytes - done : sizeof zeros);
}
