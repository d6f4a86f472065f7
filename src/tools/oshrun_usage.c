/*
 * oshrun_usage.c - what each file of oshrun may report and read: errors that end it, numbers, names of levels.
 */
#include "oshrun.h"

#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void usage_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "oshrun: ");
    vfprintf(stderr, format, ap);
    fprintf(stderr, " (oshrun --help lists the options)\n");
    va_end(ap);
    exit(EXIT_USAGE);
}

void out_of_memory(void)
{
    fprintf(stderr, "oshrun: out of memory\n");
    exit(1);
}

void printed(void)
{
    if (fflush(stdout)) {
        fprintf(stderr, "oshrun: cannot write standard output: %s\n", strerror(errno));
        exit(1);
    }
    exit(0);
}

void *need(void *p)
{
    if (!p)
        out_of_memory();
    return p;
}

int opt_count(const char *what, const char *text)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n < 1 || n > MAX_PES)
        usage_error("%s must be a number from 1 to %d, not '%s'", what, MAX_PES, text);
    return n;
}

static const char *const levels[] = {[LEVEL_NONE] = "none", [LEVEL_HWTHREAD] = "hwthread", [LEVEL_CORE] = "core",
                                     [LEVEL_NUMA] = "numa", [LEVEL_SOCKET] = "socket", [LEVEL_NODE] = "node",
                                     [LEVEL_SLOT] = "slot"};

const char *level_name(enum level level)
{
    return levels[level];
}

bool have_interface(void)
{
    struct ifaddrs *all = NULL, *i;

    if (getifaddrs(&all))
        return true; /* unknown */
    for (i = all; i && !((i->ifa_flags & IFF_UP) && i->ifa_addr && i->ifa_addr->sa_family == AF_INET);)
        i = i->ifa_next;
    freeifaddrs(all);
    return i;
}
