/* log.c - lines to the user. One write(2) per line, so that lines of several PEs do not mix. */
#include "host/util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/util/cancel.h"

static int log_pe = -1;
static int log_level;
static int log_lines;
static void (*log_abort)(int status);

void shi_log_set(int pe, int debug_level)
{
    log_pe = pe;
    log_level = debug_level;
}

void shi_log_set_abort(void (*abort_job)(int status))
{
    log_abort = abort_job;
}

static void write_line(const char *routine, const char *fmt, va_list ap)
{
    SHI_UNCANCELLED;
    char line[1024];
    size_t room = sizeof line - 1; /* without the newline */
    int n = log_pe < 0 ? snprintf(line, room, "fulmar: ") : snprintf(line, room, "fulmar: PE %d: ", log_pe);
    if (routine)
        n += snprintf(line + n, room - n, "%s: ", routine);
    n += vsnprintf(line + n, room - n, fmt, ap);
    if ((size_t)n >= room)
        n = room - 1;
    line[n++] = '\n';
    __atomic_fetch_add(&log_lines, 1, __ATOMIC_RELAXED);
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* standard error is closed */
}

void shi_log_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    write_line(NULL, fmt, ap);
    va_end(ap);
}

int shi_log_lines(void)
{
    return __atomic_load_n(&log_lines, __ATOMIC_RELAXED);
}

void shi_log_debug(const char *fmt, ...)
{
    if (log_level <= 0)
        return;
    va_list ap;
    va_start(ap, fmt);
    write_line(NULL, fmt, ap);
    va_end(ap);
}

const char *shi_log_routine(const char *routine)
{
    static const char *const starts[] = {"psh", "pstart_pes", "p_"}; /* pshmem_put, pshfree, p_my_pe */
    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(routine, starts[i], strlen(starts[i])) == 0)
            return routine + 1;
    return routine;
}

void shi_die(const char *routine, const char *fmt, ...)
{
    SHI_UNCANCELLED;
    va_list ap;
    va_start(ap, fmt);
    write_line(shi_log_routine(routine), fmt, ap);
    va_end(ap);
    if (log_abort)
        log_abort(1);
    _exit(1);
}
