/* log.h - lines to the user: one write(2) a line, each naming the PE. */
#ifndef SHI_LOG_H
#define SHI_LOG_H

#include <stdnoreturn.h>

/* From then on lines carry this PE's number; level 0 silences shi_log_debug. */
void shi_log_set(int pe, int debug_level);

/* Something the user must know, on stderr. */
void shi_log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Something SHMEM_DEBUG=1 shows. */
void shi_log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Ends the job when shi_die is called; until one is set the process exits with the status alone. */
void shi_log_set_abort(void (*abort_job)(int status));

/* A routine's name as the user knows it: without the p of a pshmem_ name. */
const char *shi_log_routine(const char *routine);

/* A user's error: print "fulmar: PE p: routine: ..." and end the job with status 1. `routine` may be a pshmem_ name: see
 * shi_log_routine. May be called on any thread. */
noreturn void shi_die(const char *routine, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
