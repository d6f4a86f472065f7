/*
 * guard.c - checks the addresses that a kernel accesses (ZE_CPU_CHECK) and translates those of device memory
 * (ZE_CPU_PRIVATE). Valid are the work-item's frame, local memory, the module's variables, and USM. Without checks, a crash
 * in a kernel is reported with the kernel's name.
 */
#include "ze_cpu/guard.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ze_cpu/config.h"
#include "ze_cpu/mem.h"

static bool within(uint64_t addr, uint64_t bytes, const void *base, uint64_t size)
{
    uint64_t at = addr - (uint64_t)(uintptr_t)base;
    return at < size && bytes <= size - at;
}

static bool in_usm(struct zc_vm *x, uint64_t addr, uint64_t bytes)
{
    uint64_t now = zc_mem_changes();
    if (x->changes == now && addr >= x->lo && addr < x->hi && bytes <= x->hi - addr)
        return true;
    struct zc_alloc a;
    if (!zc_mem_find((const void *)(uintptr_t)addr, &a))
        return false;
    x->changes = now;
    x->lo = (uint64_t)(uintptr_t)a.base;
    x->hi = x->lo + a.size;
    return bytes <= x->hi - addr;
}

static bool is_known(struct zc_vm *x, const struct zc_item *it, uint64_t addr, uint64_t bytes)
{
    if (in_usm(x, addr, bytes) || within(addr, bytes, it->f, x->l->k->frame))
        return true;
    const struct zc_group *g = x->g;
    if (within(addr, bytes, g->local, (uint64_t)(g->frames + g->bytes - g->local)))
        return true;
    for (uint32_t i = 0; i < x->m->globals.n; i++)
        if (within(addr, bytes, x->m->globals.v[i].mem, x->m->globals.v[i].size))
            return true;
    return x->l->cooperative && within(addr, bytes, x->l->grid_barrier, sizeof x->l->grid_barrier);
}

uint64_t zc_guard_address(struct zc_vm *x, const struct zc_item *it, uint64_t addr, uint64_t bytes, const char *what)
{
    if (zc_config.check && ((!strncmp(what, "atomic", 6) && addr % bytes) || !is_known(x, it, addr, bytes))) {
        x->what = what;
        x->bad = addr;
        x->bad_bytes = bytes;
        return 0;
    }
    return (uint64_t)(uintptr_t)zc_mem_device_view((void *)(uintptr_t)addr);
}

void zc_guard_report(const struct zc_vm *x, const struct zc_item *it)
{
    const struct zc_group *g = x->g;
    const uint32_t *l = it->lid;
    char where[200];
    snprintf(where, sizeof where, "kernel %s, work-item (%u,%u,%u) of group (%u,%u,%u)", x->l->k->name, l[0], l[1],
             l[2], g->id[0], g->id[1], g->id[2]);
    if (!x->bad_bytes)
        fprintf(stderr, "ze_cpu: %s: %s\n", where, x->what);
    else
        fprintf(stderr, "ze_cpu: %s: %s of %llu bytes at 0x%llx: %s\n", where, x->what,
                (unsigned long long)x->bad_bytes, (unsigned long long)x->bad,
                !strncmp(x->what, "atomic", 6) && x->bad % x->bad_bytes ? "not aligned" : "no memory of this device");
}

/* ---- crashes ---------------------------------------------------------------------------------------------------- */

static _Thread_local const struct zc_launch *running __attribute__((tls_model("initial-exec")));
static const int crashes[] = {SIGSEGV, SIGBUS};
static struct sigaction before[sizeof crashes / sizeof *crashes];

void zc_guard_run(const struct zc_launch *l)
{
    running = l;
}

/* One system call, so that the line does not mix with those of other threads. Async-signal-safe. */
static void report_crash(const char *kernel)
{
    static const char begin[] = "ze_cpu: kernel ";
    static const char end[] = " crashed: it accessed an invalid address; "
                              "ZE_CPU_CHECK=1 reports the address and the work-item\n";
    const struct iovec line[] = {
        {(void *)begin, sizeof begin - 1}, {(void *)kernel, strlen(kernel)}, {(void *)end, sizeof end - 1}};
    if (writev(STDERR_FILENO, line, 3) < 0)
        return; /* standard error is closed: there is no other place to report to */
}

/* Report the crash and restore the previous handler; then the access, or the signal, is repeated and reaches that handler. */
static void crashed(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (running && info->si_code > 0)
        report_crash(running->k->name);
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++)
        if (crashes[i] == sig)
            sigaction(sig, &before[i], NULL);
    if (info->si_code <= 0)
        raise(sig);
}

void zc_guard_up(void)
{
    struct sigaction act = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &act, &before[i]);
}
