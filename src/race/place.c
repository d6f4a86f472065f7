/* place.c - see place.h. */
#include "race/place.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "race/node.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_text(const char *s)
{
    uint64_t h = 14695981039346656037u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h | 2; /* neither free nor being filled */
}

/* The entry of a table of texts, taken by the first that asks for it. */
static uint32_t text_of(uint64_t *key, char *texts, size_t width, uint32_t entries, const char *text)
{
    uint64_t h = hash_text(text);
    for (uint32_t i = (uint32_t)(h >> 32) % entries, n = 0; n < entries; n++, i = (i + 1) % entries) {
        uint64_t k = __atomic_load_n(&key[i], __ATOMIC_ACQUIRE); /* A4 */
        if (k == 0 && __atomic_compare_exchange_n(&key[i], &k, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            snprintf(texts + i * width, width, "%s", text);
            __atomic_store_n(&key[i], h, __ATOMIC_RELEASE); /* R4 */
            return i;
        }
        while (k == 1)
            k = __atomic_load_n(&key[i], __ATOMIC_ACQUIRE);
        if (k == h)
            return i;
    }
    return 0;
}

struct module {
    uintptr_t pc, base;
    char name[RACE_MODULE_NAME];
};

static int holds(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct module *m = arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || m->pc - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz)
            continue;
        m->base = info->dlpi_addr;
        snprintf(m->name, sizeof m->name, "%s", info->dlpi_name);
        if (!*m->name) {
            ssize_t n = readlink("/proc/self/exe", m->name, sizeof m->name - 1);
            m->name[n > 0 ? n : 0] = 0;
        }
        return 1;
    }
    return 0;
}

__thread struct race_near race_near[RACE_NEAR];

static uint16_t routine_of(const char *name)
{
    struct race_shared *s = race_node.shared;
    return (uint16_t)(1 + text_of(s->routine_key, s->routine[0], sizeof s->routine[0], sizeof s->routine / sizeof *s->routine, name));
}

/* The number of the place in the shared table. */
static uint32_t entry(struct race_place p)
{
    struct race_shared *s = race_node.shared;
    uint64_t key = mix(mix(mix(mix(0, p.offset), p.module), p.routine), p.atomic) | 2;
    uint32_t found = 0;
    for (uint32_t i = 1 + (uint32_t)(key >> 40) % (RACE_PLACES - 1), n = 0; n < 64 && !found;
         n++, i = i % (RACE_PLACES - 1) + 1) {
        uint64_t k = __atomic_load_n(&s->place[i].key, __ATOMIC_ACQUIRE); /* A4 */
        if (k == 0 && __atomic_compare_exchange_n(&s->place[i].key, &k, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            s->place[i].offset = p.offset, s->place[i].module = p.module, s->place[i].routine = p.routine;
            s->place[i].atomic = p.atomic;
            __atomic_store_n(&s->place[i].key, k = key, __ATOMIC_RELEASE); /* R4 */
        }
        while (k == 1)
            k = __atomic_load_n(&s->place[i].key, __ATOMIC_ACQUIRE);
        if (k == key)
            found = i;
    }
    return found;
}

static uint32_t look_up(const void *pc, const char *routine, unsigned atomic)
{
    struct race_shared *s = race_node.shared;
    struct module m = {.pc = (uintptr_t)pc};
    dl_iterate_phdr(holds, &m);
    struct race_place p = {.offset = m.pc - m.base,
                           .module = text_of(s->module_key, s->module[0], RACE_MODULE_NAME, RACE_MODULES, m.name)};
    p.routine = routine ? routine_of(routine) : 0;
    p.atomic = (uint8_t)atomic;
    return entry(p);
}

void (*race_place_used)(uint32_t place);

uint32_t race_place_find(const void *pc, const char *routine, unsigned atomic)
{
    enum { USED = 1 << 16 }; /* in the field `atomic`: race_place_of does not find it */
    uintptr_t at = (uintptr_t)pc;
    struct race_near *n = &race_near[(at ^ at >> 10) % RACE_NEAR];
    unsigned key = race_place_used ? atomic | USED : atomic;
    if (n->pc != pc || n->routine != routine || n->atomic != key)
        *n = (struct race_near){pc, routine, look_up(pc, routine, atomic), key};
    if (race_place_used)
        race_place_used(n->place);
    return n->place;
}

/* A kernel of AdaptiveCpp has the mangled type of its function object, most often a lambda: the name of the function that it is in, which for calls on
 * queues is that of the call. The name's characters. */
static int name_of(const char **kernel)
{
    const char *name = NULL, *p = strstr(*kernel, "__sscp_dispatch");
    if (!p)
        return (int)strlen(*kernel);
    p += sizeof "__sscp_dispatch" - 1;
    size_t bytes = 0;
    int local = 0; /* what follows is the name of a function with local types */
    while (*p) {
        size_t n = strtoul(p, NULL, 10), left = strlen(p);
        if (*p == 'S' && strspn(p + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") < strcspn(p, "_")) { /* S_, S1_ */
            p += strcspn(p, "_") + (strchr(p, '_') != NULL);
        } else if (n && n < left) {
            p += strspn(p, "0123456789");
            if (local)
                name = p, bytes = n;
            p += n;
        } else {
            if (name && local && strncmp(name, "shi_on_queue", bytes) != 0)
                break;
            local = *p == 'Z' || (local && (*p == 'L' || *p == 'N' || *p == 'K'));
            p++;
        }
    }
    *kernel = name ? name : *kernel;
    return (int)(name ? bytes : strlen(*kernel));
}

uint32_t race_place_of_kernel(const char *kernel, const char *file, uint32_t line)
{
    struct race_shared *s = race_node.shared;
    char routine[sizeof s->routine[0]];
    int bytes = name_of(&kernel);
    snprintf(routine, sizeof routine, RACE_IN_KERNEL "%.*s", bytes, kernel);
    return entry((struct race_place){
        .offset = line,
        .module = (uint16_t)text_of(s->module_key, s->module[0], RACE_MODULE_NAME, RACE_MODULES, file ? file : ""),
        .routine = routine_of(routine)});
}

uint32_t race_place_atomic(uint32_t place, unsigned atomic)
{
    struct race_place p = race_node.shared->place[place];
    p.atomic = (uint8_t)atomic;
    return entry(p);
}

void race_place_read(uint32_t place, const char **routine, const char **module, uint64_t *offset)
{
    struct race_shared *s = race_node.shared;
    const struct race_place *p = &s->place[place];
    *routine = p->routine ? s->routine[p->routine - 1] : NULL;
    *module = place ? s->module[p->module] : "";
    *offset = p->offset;
}
