/*
 * ofi_accept.c - see ofi_accept.h. The replacement is a word in the table of imported functions of each library.
 *
 *   word             written by                          read by                 order
 *   own[], n_own     shi_ofi_accept_at, one at a time    accept, on any thread   R1 -> A1 an address is whole before it is counted
 *   hosts[], n_hosts shi_ofi_accept_from, one thread     accept, on any thread   R2 -> A2 complete before anything is accepted
 */
#include "host/net/ofi_accept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <link.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/net/net.h"
#include "host/net/ofi_throttle.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/peer_uid.h"
#include "host/util/tcp_end.h"

static struct shi_tcp_end own[SHI_NET_LANES];
static int n_own;
static struct host {
    struct shi_tcp_end end;
    int local; /* this host */
} *hosts;      /* of all PEs while they are named; then each once, in order */
static int n_hosts, complete;

/* ---- addresses ---------------------------------------------------------------------------------------------------- */

void shi_ofi_accept_at(const struct sockaddr *a)
{
    if (n_own == SHI_NET_LANES || shi_tcp_end_of(a, &own[n_own]))
        return;
    __atomic_store_n(&n_own, n_own + 1, __ATOMIC_RELEASE); /* R1 */
}

static int compare(const void *a, const void *b)
{
    return shi_tcp_compare_hosts(&((const struct host *)a)->end, &((const struct host *)b)->end);
}

static struct host *find_host(const struct shi_tcp_end *e)
{
    const struct host wanted = {.end = *e};
    return bsearch(&wanted, hosts, (size_t)n_hosts, sizeof *hosts, compare);
}

/* Mark the addresses that an interface of this host has. */
static void find_local(void)
{
    struct ifaddrs *all = NULL;
    struct shi_tcp_end end;
    int unknown = getifaddrs(&all);
    for (int i = 0; i < n_hosts; i++)
        hosts[i].local = unknown; /* when in doubt, the user is checked */
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        struct host *h = i->ifa_addr && !shi_tcp_end_of(i->ifa_addr, &end) ? find_host(&end) : NULL;
        if (h)
            h->local = 1;
    }
    if (!unknown)
        freeifaddrs(all);
}

/* All PEs are named. */
static void settle(void)
{
    int n = 0;
    qsort(hosts, (size_t)n_hosts, sizeof *hosts, compare);
    for (int i = 0; i < n_hosts; i++)
        if (n == 0 || compare(&hosts[n - 1], &hosts[i]))
            hosts[n++] = hosts[i];
    n_hosts = n;
    find_local();
    for (int i = 0; i < n_hosts; i++)
        if (!hosts[i].local)
            shi_ofi_throttle_exempt(&hosts[i].end.address);
    __atomic_store_n(&complete, 1, __ATOMIC_RELEASE); /* R2 */
}

void shi_ofi_accept_from(const struct sockaddr *peer, int n_pes)
{
    static int n_calls;
    if (!hosts && !(hosts = malloc((size_t)n_pes * sizeof *hosts)))
        shi_die("network", "out of memory for the addresses of %d PEs", n_pes);
    n_hosts += shi_tcp_end_of(peer, &hosts[n_hosts].end) == 0;
    if (++n_calls == n_pes)
        settle();
}

/* ---- accepting ---------------------------------------------------------------------------------------------------- */

/* Which endpoint of this PE the listening socket belongs to, or -1: the program may use libfabric too. */
static int find_own(int listener)
{
    struct sockaddr_storage a;
    socklen_t bytes = sizeof a;
    struct shi_tcp_end e;
    if (getsockname(listener, (void *)&a, &bytes) || shi_tcp_end_of((void *)&a, &e))
        return -1;
    for (int i = 0, n = __atomic_load_n(&n_own, __ATOMIC_ACQUIRE); i < n; i++) /* A1 */
        if (own[i].port == e.port)
            return i;
    return -1;
}

/* May the other end be a PE of this job? If not, say so once, unless it has gone. */
static int is_peer(int fd)
{
    static int reported;
    struct sockaddr_storage a;
    socklen_t bytes = sizeof a;
    struct shi_tcp_end e;
    uid_t uid = 0;
    char name[INET6_ADDRSTRLEN] = "";
    if (getpeername(fd, (void *)&a, &bytes) || shi_tcp_end_of((void *)&a, &e))
        return 0;
    const struct host *h = find_host(&e);
    int own_user = h && h->local ? shi_peer_is_own(fd, &uid) : h != NULL;
    if (own_user == 1)
        return 1;
    if (own_user < 0 || __atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED))
        return 0;
    inet_ntop(AF_INET6, &e.address, name, sizeof name);
    if (h)
        shi_log_error("network: connections of user %u of this host are refused", (unsigned)uid);
    else
        shi_log_error("network: connections from %s are refused: no PE of this job is there",
                      strncmp(name, "::ffff:", 7) == 0 ? name + 7 : name);
    return 0;
}

static int checked_accept(int listener, struct sockaddr *a, socklen_t *bytes)
{
    int at = find_own(listener);
    if (at < 0)
        return accept(listener, a, bytes);
    uint64_t begin = shi_now_ns();
    int fd = __atomic_load_n(&complete, __ATOMIC_ACQUIRE) ? accept(listener, a, bytes) : -1; /* A2 */
    if (fd >= 0 && is_peer(fd))
        return fd;
    if (fd >= 0) {
        shi_peer_refuse(fd);
        shi_ofi_throttle_refused(at, listener, shi_now_ns() - begin);
    }
    errno = EAGAIN;
    return -1;
}

/* ---- installing --------------------------------------------------------------------------------------------------- */

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
static int replace_word(const struct dl_phdr_info *lib, ElfW(Addr) word)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = (void *)(word & ~(page - 1));
    int fixed = is_relro(lib, word);
    if (fixed && mprotect(at, page, PROT_READ | PROT_WRITE))
        return 0;
    __atomic_store_n((ElfW(Addr) *)word, (ElfW(Addr))checked_accept, __ATOMIC_RELAXED);
    if (fixed)
        mprotect(at, page, PROT_READ);
    return 1;
}

static int replace_in(const struct dl_phdr_info *lib, const struct tables *t, const ElfW(Rela) *r, size_t bytes)
{
    int n = 0;
    for (size_t i = 0; r && i < bytes / sizeof *r; i++) {
        size_t symbol = sizeof(void *) == 8 ? r[i].r_info >> 32 : r[i].r_info >> 8;
        if (symbol && strcmp(t->strings + t->symbols[symbol].st_name, "accept") == 0)
            n += replace_word(lib, lib->dlpi_addr + r[i].r_offset);
    }
    return n;
}

static int replace(struct dl_phdr_info *lib, size_t bytes, void *count)
{
    (void)bytes;
    if (!strstr(lib->dlpi_name, "libfabric.so") && !strstr(lib->dlpi_name, "-fi.so")) /* providers may be libraries */
        return 0;
    for (int i = 0; i < lib->dlpi_phnum; i++) {
        if (lib->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        struct tables t = tables_of(lib, (const ElfW(Dyn) *)(lib->dlpi_addr + lib->dlpi_phdr[i].p_vaddr));
        if (t.symbols && t.strings)
            *(int *)count += replace_in(lib, &t, t.rela, t.rela_bytes) + replace_in(lib, &t, t.plt, t.plt_bytes);
    }
    return 0;
}

int shi_ofi_accept_install(void)
{
    int n = 0;
    dl_iterate_phdr(replace, &n);
    return n;
}
