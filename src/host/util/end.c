/*
 * end.c - end the process with the right status although exit handlers or stdio may hang.
 *
 * A watchdog thread ends a process whose exit handlers loop, or whose flush of stdio blocks because a stopped thread holds
 * the lock or nothing reads the pipe. SIGALRM is its fallback.
 *
 *   word       written by                            read by              order
 *   state      the thread that ends the process      every thread         R1 -> A1 the struct is filled
 *   crashed    a signal handler, once                the watchdog thread  relaxed: the number carries all
 *   finishing  the thread that ends the process      the watchdog thread  relaxed: the same
 */
#include "host/util/end.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/util/log.h"

enum {
    STEP_MS = 20,  /* the watchdog's polling interval */
    TERM_MS = 400  /* from SIGTERM to the end */
};
enum { OFF, FILLING, FILLED };

static int state, crashed, finishing;
static struct {
    int status, grace_s;
    void (*last)(int status);
    pid_t pid;
    pthread_t thread;
} end;
static char crash_stack[64 << 10]; /* an exit handler may crash by stack overflow */

static _Noreturn void wait_for_the_end(void)
{
    for (;;)
        pause();
}

static void on_alarm(int sig)
{
    (void)sig;
    _exit(end.status);
}

static void on_crash(int sig)
{
    int none = 0;
    __atomic_compare_exchange_n(&crashed, &none, sig, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    wait_for_the_end();
}

static void *watch(void *arg)
{
    static const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    int sig = 0;
    for (int ms = 0; ms < end.grace_s * 1000 && !sig; ms += STEP_MS) {
        nanosleep(&step, NULL);
        sig = __atomic_load_n(&crashed, __ATOMIC_RELAXED);
    }
    if (__atomic_load_n(&finishing, __ATOMIC_RELAXED))
        return arg;
    if (sig)
        shi_log_error("%s in an exit handler; those after it do not run", strsignal(sig));
    else
        shi_log_error("exit handlers or the flush of buffered output took longer than %d s and are given up", end.grace_s);
    end.last(end.status);
    _exit(end.status);
}

static void catch(int sig, void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigemptyset(&a.sa_mask);
    sigaction(sig, &a, NULL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

/* The alarm remains where no thread can be created. */
static void start_watching(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    pthread_t t;
    sigaltstack(&(stack_t){.ss_sp = crash_stack, .ss_size = sizeof crash_stack}, NULL);
    if (pthread_create(&t, NULL, watch, NULL) == 0)
        pthread_detach(t);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        catch(crashes[i], on_crash);
    catch(SIGALRM, on_alarm);
    alarm((unsigned)(end.grace_s + SHI_END_LAUNCHER_S));
}

/* stdout first: flushing all streams blocks while another thread reads from one. */
static void flush(void)
{
    fflush(stdout);
    fflush(NULL);
}

int shi_end_under_way(void)
{
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == OFF || getpid() != end.pid) /* A1; a child forked by a handler */
        return 0;
    if (!pthread_equal(end.thread, pthread_self()))
        wait_for_the_end();
    return 1;
}

void shi_end_begin(int status, int grace_s, void (*last)(int status))
{
    int off = OFF;
    if (!__atomic_compare_exchange_n(&state, &off, FILLING, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (off == FILLED && shi_end_under_way())
            shi_end_finish();
        wait_for_the_end();
    }
    end.status = status, end.grace_s = grace_s, end.last = last, end.pid = getpid(), end.thread = pthread_self();
    __atomic_store_n(&state, FILLED, __ATOMIC_RELEASE); /* R1 */
    start_watching();
    flush();
}

_Noreturn void shi_end_terminated(int status)
{
    struct sigaction term;
    if (sigaction(SIGTERM, NULL, &term) == 0 && term.sa_handler != SIG_DFL && term.sa_handler != SIG_IGN) {
        kill(getpid(), SIGTERM);
        usleep(TERM_MS * 1000);
    }
    _exit(status);
}

void shi_end_finish(void)
{
    flush();
    __atomic_store_n(&finishing, 1, __ATOMIC_RELAXED);
    end.last(end.status);
    _exit(end.status);
}
