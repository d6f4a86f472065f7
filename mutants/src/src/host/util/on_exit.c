/*
 * on_exit.c - on_exit for C libraries that lack it (musl), whose exit handlers cannot know the exit status. This file defines exit
 * and __libc_start_main, which the program then calls in place of the C library's, and so learns the status that the program
 * passes to exit or returns from main.
 *
 * A program that loads the library by dlopen calls the C library's functions: its handlers get status 0.
 */
#include "host/util/libc.h"

#include <dlfcn.h>

#define EXPORTED __attribute__((visibility("default")))

enum { HANDLERS = 8 };
typedef int main_fn(int argc, char **argv, char **envp);

static int exit_status, n;
static main_fn *program_main;
static struct {
    void (*handler)(int status, void *arg);
    void *arg;
} handlers[HANDLERS];

/* The C library calls it once for each handler, the last one first. */
static void call_last(void)
{
    n--;
    handlers[n].handler(exit_status, handlers[n].arg);
}

int on_exit(void (*handler)(int status, void *arg), void *arg)
{
    if (n == HANDLERS || atexit(call_last))
        return -1;
    handlers[n].handler = handler;
    handlers[n++].arg = arg;
    return 0;
}

EXPORTED _Noreturn void exit(int status)
{
    void (*of_libc)(int) = (void (*)(int))dlsym(RTLD_NEXT, "exit");
    exit_status = status;
    of_libc(status);
    _exit(status); /* for the compiler */
}

static int run_main(int argc, char **argv, char **envp)
{
    exit(program_main(argc, argv, envp));
}

/* init, fini and ldso: as musl's start files pass them. */
EXPORTED int __libc_start_main(main_fn *start, int argc, char **argv, void (*init)(void), void (*fini)(void),
                               void (*ldso)(void));
int __libc_start_main(main_fn *start, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*ldso)(void))
{
    int (*of_libc)(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void)) =
        (int (*)(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void)))dlsym(RTLD_NEXT,
                                                                                                "__libc_start_main");
    program_main = start;
    return of_libc(run_main, argc, argv, init, fini, ldso);
}
