/*
 * uid_tree.c - see uid_tree.h.
 *
 *   word       written by                          read by                             order
 *   s          the thread, callers of shi_uid_tree_  the same                          lock, but before the thread starts and after it has ended
 *   running    shi_uid_tree_up and _down; a forked child  callers of shi_uid_tree_     none: one thread at a time makes these calls
 *
 * The thread waits in poll without the lock; a caller writes to `wake` for it to look.
 */
#include "host/boot/uid_tree.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host/boot/uid_accept.h"
#include "host/boot/uid_data.h"
#include "host/boot/uid_seats.h"
#include "host/util/base.h"
#include "host/util/end.h"
#include "host/util/log.h"
#include "host/util/thread.h"

enum { FLUSH_MS = 300 /* for the last frames */ };

struct child {
    struct shi_uid_link link;
    struct shi_uid_who who;
    int came;  /* its UP of this fence is here */
};

static struct {
    struct shi_uid_tree t;
    struct child child[SHI_UID_FAN];
    int n_children, n_joined;
    struct shi_uid_seats seats;      /* of seat 0 */
    struct shi_uid_bytes gathered;    /* what the subtree has published in this fence, as far as it is here */
    int wake, running, ended, leave, abort_status;
    int entered, n_came, n_fences;   /* this PE is in a fence; children are; fences that have ended */
    int over, open;                  /* a BYE was sent or received; the job does without the tree */
    enum { NOT, ASKED, REPORTED } aborts;
    pid_t pid;
    pthread_t thread;
} s = {.wake = -1};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

static int all_are_here(void)
{
    return s.n_joined == s.n_children && (s.t.seat != 0 || s.seats.n == s.t.n_pes);
}

static void close_all(void)
{
    shi_uid_accept_down();
    shi_uid_link_close(&s.t.up);
    for (int i = 0; i < SHI_UID_FAN; i++)
        shi_uid_link_close(&s.child[i].link);
}

/* ---- the end of the job --------------------------------------------------------------------------------------------- */

static void put_down(uint32_t type, const void *payload, size_t bytes)
{
    for (int i = 0; i < s.n_children; i++)
        if (s.child[i].link.state == SHI_UID_OPEN)
            shi_uid_link_put(&s.child[i].link, type, payload, bytes);
}

/* Child i, or the parent: -1. */
static struct shi_uid_link *link_of(int i)
{
    return i < 0 ? &s.t.up : &s.child[i].link;
}

/* Send what is left, and wait for it for FLUSH_MS. */
static void flush(void)
{
    uint64_t end = shi_now_ns() + FLUSH_MS * 1000000ull;
    for (int left = 1; left && shi_now_ns() < end;) {
        left = 0;
        for (int i = -1; i < s.n_children; i++) {
            struct shi_uid_link *l = link_of(i);
            if (shi_uid_link_is(l) && shi_uid_link_write(l) == 0 && shi_uid_link_events(l) & POLLOUT)
                left = 1;
        }
        if (left)
            usleep(1000);
    }
}

/* Pass the end of the job on, and end. A thread that aborts ends the process itself. */
static _Noreturn void end_with(int32_t status)
{
    put_down(SHI_UID_END, &status, sizeof status);
    flush();
    s.ended = 1;
    int aborts = s.aborts != NOT;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (aborts)
        sleep(SHI_END_LAUNCHER_S + 1);
    shi_end_terminated(status);
}

/* Seat 0, or seat 1 for seat 0: the first failure decides. Or a seat that seat 0 cannot reach any more. */
static _Noreturn void judge(const struct shi_uid_failed *f)
{
    const struct shi_uid_who *w = &f->who;
    const char *rest = s.t.n_pes > 1 ? "; ending the others" : "";
    const char *how = f->died == SHI_UID_SILENT ? "does not answer: its host or the link to it is down" : "ended without shmem_finalize";
    if (f->died)
        shi_log_error("PE %d (pid %d on %s, %s) %s%s", w->pe, w->pid, w->host, w->program, how, rest);
    else if (f->status)
        shi_log_error("PE %d (pid %d on %s, %s) ended the job with status %d%s", w->pe, w->pid, w->host, w->program, f->status, rest);
    end_with(f->status);
}

static void report(const struct shi_uid_failed *f)
{
    if (s.t.seat == 0)
        judge(f);
    if (s.t.up.state == SHI_UID_OPEN)
        shi_uid_link_put(&s.t.up, SHI_UID_FAILED, f, sizeof *f);
}

/* The connection of a child or the parent has ended, by -errno. */
static void lost(struct shi_uid_link *l, const struct shi_uid_who *who, int err)
{
    int silent = err == -ETIMEDOUT || err == -EHOSTUNREACH || err == -ENETUNREACH, is_parent = l == &s.t.up;
    struct shi_uid_failed f = {.died = silent ? SHI_UID_SILENT : SHI_UID_ENDED, .status = 1, .who = *who};
    shi_uid_link_close(l);
    if (s.over)
        return;
    if (!is_parent)
        report(&f);
    else if (s.t.seat == 1 || silent)
        judge(&f);
    else
        end_with(1);
}

/* ---- fences ------------------------------------------------------------------------------------------------------- */

static _Noreturn void no_memory(void)
{
    shi_log_error("out of memory for what the PEs publish");
    judge(&(struct shi_uid_failed){.status = 1, .who = s.t.self});
}

static void fence_ends(const void *all, size_t bytes)
{
    put_down(SHI_UID_DOWN, all, bytes);
    if (shi_uid_data_learn(all, bytes))
        no_memory();
    s.entered = s.n_came = 0;
    for (int i = 0; i < s.n_children; i++)
        s.child[i].came = 0;
    s.n_fences++;
    pthread_cond_broadcast(&changed);
}

/* Are this PE and its subtree in the fence? Then it is the parent's turn. */
static void fence_goes_on(void)
{
    if (!s.entered || s.n_came < s.n_children)
        return;
    struct shi_uid_bytes all = s.gathered;
    s.gathered = (struct shi_uid_bytes){.at = NULL};
    s.entered = s.n_came = 0;
    if (s.t.seat == 0)
        fence_ends(all.at, shi_uid_bytes_used(&all));
    else if (shi_uid_link_put(&s.t.up, SHI_UID_UP, all.at, shi_uid_bytes_used(&all)))
        no_memory();
    shi_uid_bytes_free(&all);
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */

/* 0, or -EPROTO: the sender is of another version. */
static int from_parent(const struct shi_uid_frame *f)
{
    int32_t status;
    switch (f->type) {
    case SHI_UID_DOWN:
        fence_ends(f->payload, f->bytes);
        return 0;
    case SHI_UID_END:
        if (f->bytes != sizeof status)
            return -EPROTO;
        memcpy(&status, f->payload, sizeof status);
        end_with(status);
    case SHI_UID_BYE:
        s.over = 1;
        return 0;
    default:
        return -EPROTO;
    }
}

static int from_child(struct child *c, const struct shi_uid_frame *f)
{
    struct shi_uid_failed failed;
    switch (f->type) {
    case SHI_UID_UP:
        if (c->came)
            return -EPROTO;
        c->came = 1;
        s.n_came++;
        if (shi_uid_bytes_append(&s.gathered, f->payload, f->bytes))
            no_memory();
        fence_goes_on();
        return 0;
    case SHI_UID_FAILED:
        if (f->bytes != sizeof failed)
            return -EPROTO;
        memcpy(&failed, f->payload, sizeof failed);
        shi_uid_clip(&failed.who);
        report(&failed);
        return 0;
    case SHI_UID_BYE:
        s.over = 1;
        return 0;
    default:
        return -EPROTO;
    }
}

static int child_index(int seat)
{
    int i = seat - shi_uid_first_child(s.t.seat);
    return i >= 0 && i < s.n_children && !shi_uid_link_is(&s.child[i].link) ? i : -1;
}

/* The connection of a process that has said who it is becomes a child's. */
static int join(struct shi_uid_link *l, int seat, const struct shi_uid_who *who)
{
    int i = child_index(seat);
    if (i < 0)
        return -EPROTO;
    s.child[i] = (struct child){.link = *l, .who = *who};
    *l = (struct shi_uid_link){.fd = -1};
    shi_uid_link_keep(&s.child[i].link, s.t.silence_s);
    s.n_joined++;
    return shi_uid_link_put(&s.child[i].link, SHI_UID_JOINED, &s.t.self, sizeof s.t.self);
}

static int meet(struct shi_uid_link *l, const struct shi_uid_frame *f)
{
    struct shi_uid_meet m;
    struct shi_uid_seat seat;
    char why[400];
    if (s.t.seat != 0 || f->bytes != sizeof m)
        return -EPROTO;
    memcpy(&m, f->payload, sizeof m);
    shi_uid_clip(&m.who);
    if (s.open)
        return shi_uid_accept_late(l, &m, s.t.n_pes);
    if (shi_uid_seats_give(&s.seats, &m, &seat, why, sizeof why)) {
        shi_uid_link_put(l, SHI_UID_REFUSED, why, strlen(why));
        shi_uid_link_write(l);
        shi_log_error("shmem_init: %s", why);
        judge(&(struct shi_uid_failed){.status = 1, .who = s.t.self});
    }
    int err = shi_uid_link_put(l, SHI_UID_SEAT, &seat, sizeof seat);
    if (!err && seat.seat == 1)
        err = join(l, 1, &m.who);
    return err;
}

static int from_pending(struct shi_uid_link *l, const struct shi_uid_frame *f)
{
    struct shi_uid_join j;
    if (f->type == SHI_UID_MEET)
        return meet(l, f);
    if (f->type != SHI_UID_JOIN || f->bytes != sizeof j || s.open)
        return -EPROTO;
    memcpy(&j, f->payload, sizeof j);
    shi_uid_clip(&j.who);
    return join(l, j.seat, &j.who);
}

/* ---- the thread --------------------------------------------------------------------------------------------------- */

/* Handle the frames that have come: child -1 is the parent. */
static int take_frames(int child)
{
    struct shi_uid_link *l = link_of(child);
    struct shi_uid_frame f;
    int is = 0;
    while (shi_uid_link_is(l) && (is = shi_uid_link_next(l, &f)) == 1) {
        int err = child < 0 ? from_parent(&f) : from_child(&s.child[child], &f);
        if (err)
            return err;
    }
    return is < 0 ? is : 0;
}

static void serve(int child)
{
    struct shi_uid_link *l = link_of(child);
    int err = shi_uid_link_read(l), bad = take_frames(child);
    if (!bad && !err)
        err = shi_uid_link_write(l);
    if ((bad || err) && shi_uid_link_is(l))
        lost(l, child < 0 ? &s.t.parent : &s.child[child].who, err);
}

static void take_requests(void)
{
    uint64_t n;
    if (read(s.wake, &n, sizeof n) < 0)
        return;
    if (s.aborts == ASKED) {
        s.aborts = REPORTED;
        report(&(struct shi_uid_failed){.status = s.abort_status, .who = s.t.self});
    }
    fence_goes_on();
}

enum { POLLS_MAX = 2 + SHI_UID_FAN + SHI_UID_ACCEPT_POLLS };

/* One turn: wait, and handle what has come. The row of child i is fds[2 + i]. */
static void turn(void)
{
    struct pollfd fds[POLLS_MAX];
    int n = 2 + s.n_children, limit_ms, pending;
    fds[0] = (struct pollfd){.fd = s.wake, .events = POLLIN};
    for (int i = -1; i < s.n_children; i++) {
        struct shi_uid_link *l = link_of(i);
        fds[2 + i] = (struct pollfd){.fd = shi_uid_link_is(l) ? l->fd : -1, .events = shi_uid_link_events(l)};
    }
    pending = shi_uid_accept_polls(fds + n, &limit_ms);
    pthread_mutex_unlock(&lock);
    poll(fds, (nfds_t)(n + pending), limit_ms);
    pthread_mutex_lock(&lock);
    if (fds[0].revents)
        take_requests();
    for (int i = -1; i < s.n_children; i++)
        if (fds[2 + i].revents && shi_uid_link_is(link_of(i)))
            serve(i);
    if (pending)
        shi_uid_accept_serve(fds + n, pending, from_pending);
    for (int i = -1; i < s.n_children; i++)
        if (shi_uid_link_is(link_of(i)))
            shi_uid_link_write(link_of(i)); /* its errors are found by the next read */
    if (shi_uid_accept_is_up() && all_are_here() && !(s.t.survives && s.t.seat == 0))
        shi_uid_accept_down();
}

static void *run(void *arg)
{
    pthread_mutex_lock(&lock);
    while (!s.leave)
        turn();
    s.over = 1;
    put_down(SHI_UID_BYE, NULL, 0);
    if (s.t.up.state == SHI_UID_OPEN)
        shi_uid_link_put(&s.t.up, SHI_UID_BYE, NULL, 0);
    flush();
    close_all();
    pthread_mutex_unlock(&lock);
    return arg;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static void wake(void)
{
    uint64_t one = 1;
    if (write(s.wake, &one, sizeof one) < 0)
        return; /* it is awake */
}

/* A forked child is no PE: the connections of its parent end with the parent. */
static void in_forked_child(void)
{
    if (s.pid == getpid() || !s.running)
        return;
    s.running = 0;
    shi_uid_accept_forked();
    for (int i = -1; i < s.n_children; i++)
        if (shi_uid_link_is(link_of(i)))
            close(link_of(i)->fd);
    close(s.wake);
}

static int start(void)
{
    static int registered;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &clock);
    pthread_condattr_destroy(&clock);
    s.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = s.wake < 0 ? -errno : shi_uid_data_up(s.t.self.pe, s.t.n_pes);
    if (!err && s.t.seat == 0)
        err = shi_uid_seats_up(&s.seats, s.t.n_pes, &s.t.self);
    if (!err && !registered)
        err = -pthread_atfork(NULL, NULL, in_forked_child);
    registered |= !err;
    s.running = 1;
    if (!err)
        err = shi_thread_start(&s.thread, run, NULL, "fulmar-uid");
    return err;
}

static void tidy(void)
{
    close_all();
    shi_uid_data_down();
    shi_uid_seats_down(&s.seats);
    shi_uid_bytes_free(&s.gathered);
    if (s.wake >= 0)
        close(s.wake);
    pthread_cond_destroy(&changed);
    explicit_bzero(&s, sizeof s);
    s.wake = -1;
}

int shi_uid_tree_up(const struct shi_uid_tree *t)
{
    s.t = *t;
    s.pid = getpid();
    s.n_children = shi_uid_children(t->seat, t->n_pes);
    for (int i = 0; i < SHI_UID_FAN; i++)
        s.child[i].link = (struct shi_uid_link){.fd = -1};
    shi_uid_accept_up(&t->own);
    explicit_bzero(&s.t.own, sizeof s.t.own);
    shi_uid_link_keep(&s.t.up, t->silence_s);
    int err = start();
    if (err) {
        shi_log_error("no thread, descriptor or memory for the connections of a job without a launcher: %s", strerror(-err));
        tidy();
    }
    return err;
}

int shi_uid_tree_fence(void)
{
    pthread_mutex_lock(&lock);
    int before = s.n_fences, err = shi_uid_data_take_news(&s.gathered);
    if (!err) {
        s.entered = 1;
        wake();
    }
    while (!err && s.n_fences == before) /* ends with the process when another PE dies */
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return err;
}

void shi_uid_tree_abort(int status)
{
    struct timespec until;
    if (!s.running || s.pid != getpid() || s.open)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SHI_END_LAUNCHER_S;
    pthread_mutex_lock(&lock);
    if (!s.aborts) {
        s.aborts = ASKED;
        s.abort_status = status;
        wake();
    }
    while (!s.ended && pthread_cond_timedwait(&changed, &lock, &until) == 0)
        ;
    pthread_mutex_unlock(&lock);
}

void shi_uid_tree_down(int goes_on)
{
    if (!s.running)
        return;
    pthread_mutex_lock(&lock);
    s.open = goes_on && s.t.seat == 0;
    s.over |= s.open;
    s.leave = !s.open;
    wake();
    pthread_mutex_unlock(&lock);
    if (s.open)
        return;
    pthread_join(s.thread, NULL);
    tidy();
}

void shi_uid_tree_missing(char *text, size_t bytes)
{
    *text = 0;
    pthread_mutex_lock(&lock);
    if (s.running && s.t.seat == 0)
        shi_uid_seats_missing(&s.seats, text, bytes);
    pthread_mutex_unlock(&lock);
}
