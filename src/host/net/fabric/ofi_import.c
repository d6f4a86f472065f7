/* ofi_import.c - see ofi_import.h. The replaced words are in the tables of imported functions of each library. */
#include "host/net/fabric/ofi_import.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The tables of a loaded library. */
struct tables {
    const ElfW(Rela) *rela, *plt;
    size_t rela_bytes, plt_bytes;
    const ElfW(Sym) *symbols;
    const char *strings;
};

/* Some C libraries leave addresses in the dynamic section relative to the library. */
static const void *address_in(const struct dl_phdr_info *lib, ElfW(Addr) a)
{
    return (const void *)(a < lib->dlpi_addr ? lib->dlpi_addr + a : a);
}

static struct tables tables_of(const struct dl_phdr_info *lib, const ElfW(Dyn) *d)
{
    struct tables t = {0};
    for (; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_RELA: t.rela = address_in(lib, d->d_un.d_ptr); break;
        case DT_RELASZ: t.rela_bytes = d->d_un.d_val; break;
        case DT_JMPREL: t.plt = address_in(lib, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: t.plt_bytes = d->d_un.d_val; break;
        case DT_SYMTAB: t.symbols = address_in(lib, d->d_un.d_ptr); break;
        case DT_STRTAB: t.strings = address_in(lib, d->d_un.d_ptr); break;
        }
    return t;
}

/* Is the word read-only since the library was loaded? */
static int is_relro(const struct dl_phdr_info *lib, ElfW(Addr) word)
{
    for (int i = 0; i < lib->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &lib->dlpi_phdr[i];
        if (h->p_type == PT_GNU_RELRO && word - lib->dlpi_addr - h->p_vaddr < h->p_memsz)
            return 1;
    }
    return 0;
}

/* 1, or 0 when the word cannot be written. */
static int replace_word(const struct dl_phdr_info *lib, ElfW(Addr) word, void *to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = (void *)(word & ~(page - 1));
    int fixed = is_relro(lib, word);
    if (fixed && mprotect(at, page, PROT_READ | PROT_WRITE))
        return 0;
    __atomic_store_n((ElfW(Addr) *)word, (ElfW(Addr))to, __ATOMIC_RELAXED);
    if (fixed)
        mprotect(at, page, PROT_READ);
    return 1;
}

struct replacement {
    const char *name;
    void *to;
    int n;
};

static void replace_in(const struct dl_phdr_info *lib, const struct tables *t, const ElfW(Rela) *r, size_t bytes,
                       struct replacement *p)
{
    for (size_t i = 0; r && i < bytes / sizeof *r; i++) {
        size_t symbol = sizeof(void *) == 8 ? r[i].r_info >> 32 : r[i].r_info >> 8;
        if (symbol && strcmp(t->strings + t->symbols[symbol].st_name, p->name) == 0)
            p->n += replace_word(lib, lib->dlpi_addr + r[i].r_offset, p->to);
    }
}

static int replace(struct dl_phdr_info *lib, size_t bytes, void *replacement)
{
    (void)bytes;
    if (!strstr(lib->dlpi_name, "libfabric.so") && !strstr(lib->dlpi_name, "-fi.so")) /* providers may be libraries */
        return 0;
    for (int i = 0; i < lib->dlpi_phnum; i++) {
        if (lib->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        struct tables t = tables_of(lib, (const ElfW(Dyn) *)(lib->dlpi_addr + lib->dlpi_phdr[i].p_vaddr));
        if (!t.symbols || !t.strings)
            continue;
        replace_in(lib, &t, t.rela, t.rela_bytes, replacement);
        replace_in(lib, &t, t.plt, t.plt_bytes, replacement);
    }
    return 0;
}

int shi_ofi_import(const char *name, void *to)
{
    struct replacement p = {name, to, 0};
    dl_iterate_phdr(replace, &p);
    return p.n;
}
