/* tracer.h - is a debugger attached to this process? */
#ifndef SHI_TRACER_H
#define SHI_TRACER_H

/* 1: a process traces this one (gdb, strace) and may stop it. Reads /proc/self/status; 0 where that is not there. */
int shi_is_traced(void);

#endif
