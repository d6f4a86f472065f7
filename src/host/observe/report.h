/* report.h - on SIGUSR1 report where this PE waits, for users whose job hangs. */
#ifndef SHI_REPORT_H
#define SHI_REPORT_H

/* Handle SIGUSR1, unless the program handles or ignores it already. Pair: shi_report_down. */
void shi_report_up(void);
void shi_report_down(void);

/* The i-th PE that this PE knows to have failed, or -1: there are fewer; called by a signal handler. NULL: a failure ends the job. */
extern int (*shi_report_failed)(int i);

#endif
