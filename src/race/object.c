/* object.c - see object.h. */
#include "race/object.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "race/node.h"
#include "race/place.h"
#include "race/source.h"

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct block {
    uintptr_t lo;
    size_t bytes;
    uint32_t place;
} * block;
static size_t blocks, room;

void race_object_allocated(const void *at, size_t bytes, const void *pc, const char *routine)
{
    if (!at)
        return;
    pthread_mutex_lock(&changing);
    if (blocks == room) {
        struct block *more = realloc(block, (room * 2 + 64) * sizeof *more);
        if (more)
            block = more, room = room * 2 + 64;
    }
    if (blocks < room)
        block[blocks++] = (struct block){(uintptr_t)at, bytes, race_place_of(pc, routine, 0)};
    pthread_mutex_unlock(&changing);
}

void race_object_freed(const void *at)
{
    pthread_mutex_lock(&changing);
    for (size_t i = blocks; i-- > 0;)
        if (block[i].lo == (uintptr_t)at) {
            block[i] = block[--blocks];
            break;
        }
    pthread_mutex_unlock(&changing);
}

void race_object_gone(uintptr_t lo, size_t bytes)
{
    pthread_mutex_lock(&changing);
    for (size_t i = blocks; i-- > 0;)
        if (block[i].lo - lo < bytes)
            block[i] = block[--blocks];
    pthread_mutex_unlock(&changing);
}

static int first_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

/* The variable of the program's symbol table, in its file, with this address. */
static int variable(uintptr_t addr, char *name, size_t bytes)
{
    uintptr_t base = 0;
    dl_iterate_phdr(first_base, &base);
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), found = 0;
    if (fd < 0)
        return 0;
    const char *file = fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (file == MAP_FAILED)
        return 0;
    const ElfW(Ehdr) *head = (const void *)file;
    const ElfW(Shdr) *section = (const void *)(file + head->e_shoff);
    for (int s = 0; s < head->e_shnum && !found; s++) {
        if (section[s].sh_type != SHT_SYMTAB)
            continue;
        const ElfW(Sym) *symbol = (const void *)(file + section[s].sh_offset);
        const char *names = file + section[section[s].sh_link].sh_offset;
        for (size_t i = 0; i < section[s].sh_size / sizeof *symbol && !found; i++) {
            uintptr_t at = addr - base - symbol[i].st_value;
            if ((symbol[i].st_info & 15) != STT_OBJECT || at >= symbol[i].st_size)
                continue;
            const char *n = names + symbol[i].st_name; /* a local static is NAME.NUMBER */
            int length = (int)strcspn(n, ".");
            snprintf(name, bytes, at ? "%.*s + %zu" : "%.*s", length, n, (size_t)at);
            found = 1;
        }
    }
    munmap((void *)file, (size_t)st.st_size);
    return found;
}

void race_object_name(const struct race_where *w, char *name, size_t bytes)
{
    snprintf(name, bytes, w->segment < 0 ? "private memory" : "symmetric memory");
    if (w->segment < 0)
        return;
    uintptr_t addr = race_node.lo[w->segment] + w->offset;
    if (w->segment == RACE_STATICS) {
        variable(addr, name, bytes);
        return;
    }
    pthread_mutex_lock(&changing);
    for (size_t i = 0; i < blocks; i++)
        if (addr - block[i].lo < block[i].bytes) {
            const char *routine, *module;
            char function[128], source[128];
            uint64_t offset;
            race_place_read(block[i].place, &routine, &module, &offset);
            race_source_of(module, offset, function, source, sizeof source);
            snprintf(name, bytes, "byte %zu of %zu from %s at %s", (size_t)(addr - block[i].lo), block[i].bytes,
                     routine ? routine : "shmem_malloc", source);
            break;
        }
    pthread_mutex_unlock(&changing);
}
