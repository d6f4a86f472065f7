/* report.h - where this PE waits, said on SIGUSR1: for people whose job hangs. */
#ifndef SHI_REPORT_H
#define SHI_REPORT_H

/* Answer SIGUSR1, unless the program does something with it already. Pair: shi_report_down. */
void shi_report_up(void);
void shi_report_down(void);

#endif
