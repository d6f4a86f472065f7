/* report.h - on SIGUSR1 report where this PE waits, for users whose job hangs. */
#ifndef SHI_REPORT_H
#define SHI_REPORT_H

/* Handle SIGUSR1, unless the program handles or ignores it already. Pair: shi_report_down. */
void shi_report_up(void);
void shi_report_down(void);

#endif
