/*
 * report.c - where this PE waits, for which value or PE: one line for each wait, written by a signal handler.
 *
 * All of it is async-signal-safe: own formatting, write(2), and memory that stays mapped (symmetric words, teams in which a
 * thread waits). Waits are registered once they sleep, which they do after a few milliseconds.
 */
#include "host/observe/report.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "device/device.h"
#include "host/coll/team.h"
#include "host/ops/dheap.h"
#include "host/ops/launched.h"
#include "host/ops/p2p.h"
#include "host/ops/wait.h"
#include "host/util/log.h"

/* ---- lines ------------------------------------------------------------------------------------------------------- */

struct line {
    char text[512];
    size_t n;
};

static void put(struct line *l, const char *s)
{
    while (*s && l->n < sizeof l->text - 1) /* leaves room for the newline */
        l->text[l->n++] = *s++;
}

static void put_number(struct line *l, uint64_t v, unsigned base)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = "0123456789abcdef"[v % base];
    while (v /= base);
    put(l, at);
}

static void put_int(struct line *l, int64_t v)
{
    if (v < 0)
        put(l, "-");
    put_number(l, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
}

static void put_seconds(struct line *l, uint64_t ns)
{
    put_number(l, ns / 1000000000, 10);
    put(l, ".");
    put_number(l, ns / 100000000 % 10, 10);
    put(l, " s");
}

static void begin(struct line *l)
{
    l->n = 0;
    put(l, "fulmar: PE ");
    put_int(l, shi_world.pe);
    put(l, ": ");
}

static void end(struct line *l)
{
    l->text[l->n++] = '\n';
    if (write(STDERR_FILENO, l->text, l->n) < 0)
        return; /* standard error is closed: there is no other place to report to */
}

/* ---- what a wait is for ------------------------------------------------------------------------------------------ */

static int in_device(uintptr_t a)
{
    return shi_world.dev_lo && a - shi_world.dev_lo < shi_world.dev_bytes;
}

/* The address, and its symmetric offset, which is the same on all PEs. */
static void put_address(struct line *l, const void *addr)
{
    uintptr_t a = (uintptr_t)addr, heap = a - shi_world.heap_lo, data = a - shi_world.data_lo;
    put(l, "0x");
    put_number(l, a, 16);
    if (heap < shi_world.heap_bytes || data < shi_world.data_bytes) {
        put(l, heap < shi_world.heap_bytes ? " (heap + 0x" : " (static data + 0x");
        put_number(l, heap < shi_world.heap_bytes ? heap : data, 16);
        put(l, ")");
    } else if (in_device(a)) {
        put(l, " (device heap + 0x");
        put_number(l, a - shi_world.dev_lo, 16);
        put(l, ")");
    }
}

static void put_value(struct line *l, int word, uint64_t bits)
{
    if (word % 2) /* unsigned */
        put_number(l, bits, 10);
    else
        put_int(l, (int64_t)bits);
}

static void put_words(struct line *l, const struct shi_wait_for *w)
{
    static const char *const sign[] = {[SHMEM_CMP_EQ] = "==", [SHMEM_CMP_NE] = "!=", [SHMEM_CMP_GT] = ">",
                                       [SHMEM_CMP_GE] = ">=", [SHMEM_CMP_LT] = "<", [SHMEM_CMP_LE] = "<="};
    put(l, w->n > 1 ? "one of " : "");
    if (w->n > 1) {
        put_number(l, w->n, 10);
        put(l, " words from ");
    }
    put_address(l, w->addr);
    if (!shi_dheap_hides(w->addr, 1)) {
        put(l, w->n > 1 ? ", the first is " : " is ");
        put_value(l, w->word, shi_p2p_bits((enum shi_word)w->word, w->addr));
    }
    put(l, ", wanted ");
    put(l, sign[w->cmp]);
    put(l, " ");
    put_value(l, w->word, w->value);
}

static int is_awaited(const struct shi_wait_for *w, int member)
{
    const struct shmem_team *t = w->team;
    if (member == t->me)
        return 0;
    if (w->kind == SHI_FOR_BARRIER)
        return shi_team_came(t, member, w->epoch) == 0;
    return __atomic_load_n(&t->slot[t->me]->from[member], __ATOMIC_RELAXED) < w->epoch && member >= w->of;
}

/* World PEs of the members that are awaited: up to 16, then how many more. */
static void put_members(struct line *l, const struct shi_wait_for *w)
{
    enum { NAMED = 16 };
    const struct shmem_team *t = w->team;
    int n = 0;
    put(l, w->kind == SHI_FOR_BARRIER ? "not arrived:" : "nothing received from:");
    for (int i = 0; i < t->n; i++) {
        if (!is_awaited(w, i) || n++ >= NAMED)
            continue;
        put(l, n > 1 ? ", PE " : " PE ");
        put_int(l, shi_team_world_pe(t, i));
    }
    if (n > NAMED) {
        put(l, " and ");
        put_int(l, n - NAMED);
        put(l, " more");
    }
    put(l, n ? "" : t->n_nodes > 1 ? " no PE of this node" : " none: the wait is about to end");
    put(l, " (of ");
    put_int(l, t->n);
    put(l, t == &shi_team_world ? " in the world)" : " in a team)");
}

static void put_wait(struct line *l, const struct shi_wait_for *w)
{
    switch (w->kind) {
    case SHI_FOR_WORDS:
        put_words(l, w);
        break;
    case SHI_FOR_BARRIER:
    case SHI_FOR_MEMBERS:
        put_members(l, w);
        break;
    case SHI_FOR_LOCK:
        put(l, "lock ");
        put_address(l, w->addr);
        put(l, ", PE ");
        put_int(l, w->of);
        put(l, " is ahead in its queue");
        break;
    case SHI_FOR_NETWORK:
        put(l, w->of < 0 ? "the network has not completed all operations" : "over the network, PE ");
        if (w->of >= 0)
            put_int(l, w->of);
        break;
    case SHI_FOR_KERNELS:
        put(l, shi_launched_words());
        put(l, " has not ended");
        break;
    case SHI_FOR_OTHER:
        put(l, w->words);
        break;
    }
}

/* A line for each thread of the device whose work-items only poll, with the symmetric word that they poll, if there is one. */
static void report_kernels(struct line *l)
{
    struct shi_device_stalled s;
    int at = 0;
    while (shi_device && shi_device->stalled && shi_device->stalled(&at, &s)) {
        uint32_t k = 0;
        while (k < s.words && !in_device(s.addr[k]))
            k++;
        k = k < s.words ? k : 0;
        begin(l);
        put_number(l, s.items, 10);
        put(l, s.items == 1 ? " work-item of kernel " : " work-items of kernel ");
        put(l, s.kernel);
        put(l, s.items == 1 ? " polls " : " only poll, the first of them ");
        if (s.words && s.addr[k])
            put_address(l, (const void *)s.addr[k]);
        else
            put(l, "a word (ZE_CPU_NATIVE=0 shows its address)");
        if (s.words) {
            put(l, ", which is ");
            put_number(l, s.value[k], 10);
        }
        end(l);
    }
}

int (*shi_report_failed)(int i);

static void report_failed(struct line *l)
{
    int (*failed)(int) = shi_report_failed;
    if (!failed || failed(0) < 0)
        return;
    begin(l);
    put(l, failed(1) < 0 ? "knows that this PE has failed: " : "knows that these PEs have failed: ");
    for (int i = 0, pe; (pe = failed(i)) >= 0; i++) {
        put(l, i ? ", " : "");
        put_int(l, pe);
    }
    end(l);
}

static void report(int sig)
{
    int saved = errno, at = 0, n = 0;
    struct shi_wait_for w;
    struct line l;
    uint64_t since;
    (void)sig;
    while (shi_wait_next_blocked(&at, &w, &since)) {
        begin(&l);
        put(&l, "waits in ");
        put(&l, shi_log_routine(w.routine));
        put(&l, " for ");
        put_seconds(&l, shi_now_ns() - since);
        put(&l, ": ");
        put_wait(&l, &w);
        end(&l);
        n++;
    }
    report_kernels(&l);
    report_failed(&l);
    if (n == 0) {
        begin(&l);
        put(&l, shi_world.up ? "waits in no routine of the library" : "is in shmem_init");
        end(&l);
    }
    errno = saved;
}

/* ---- up and down ------------------------------------------------------------------------------------------------- */

static int is_handled_by(void (*handler)(int))
{
    struct sigaction now;
    return sigaction(SIGUSR1, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == handler;
}

void shi_report_up(void)
{
    struct sigaction act = {.sa_handler = report, .sa_flags = SA_RESTART};
    if (is_handled_by(SIG_DFL))
        sigaction(SIGUSR1, &act, NULL);
}

void shi_report_down(void)
{
    if (is_handled_by(report))
        signal(SIGUSR1, SIG_DFL);
}
