/* log.h - lines to the user: one write(2) a line, each naming the PE. */
#ifndef SHI_LOG_H
#define SHI_LOG_H

#include <stdnoreturn.h>

/* Later lines have this PE's number; debug_level 0 silences shi_log_debug. */
void shi_log_set(int pe, int debug_level);

/* Print an error or warning on stderr. */
void shi_log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How many lines were printed. */
int shi_log_lines(void);

/* Print with SHMEM_DEBUG=1 only. */
void shi_log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Set the function by which shi_die ends the job; without one it ends this process only. */
void shi_log_set_abort(void (*abort_job)(int status));

/* The routine's name without the p of its profiling name. */
const char *shi_log_routine(const char *routine);

/* A user's error: print "fulmar: PE p: routine: ..." and end the job with status 1. `routine` may be a profiling name: see
 * shi_log_routine. May be called on any thread. */
noreturn void shi_die(const char *routine, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
