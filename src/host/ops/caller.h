/*
 * caller.h - SHMEM_CHECK=1: may this thread make this call now? The thread level that the program requested and the options of a
 * context restrict it. Nothing here runs without SHMEM_CHECK=1. Threads of the library are always allowed.
 */
#ifndef SHI_CALLER_H
#define SHI_CALLER_H

#include "host/ops/state.h"

/* Die when the thread level forbids the call: SINGLE and FUNNELED by another thread than the one that initialised the library,
 * SERIALIZED while another thread is between shi_caller_enter and shi_caller_leave. */
void shi_caller_check(const char *routine);

/* The same, and the call lasts until shi_caller_leave, which follows if this returns 1. Calls nest. */
int shi_caller_enter(const char *routine);
void shi_caller_leave(void);

/* Die when c is a SHMEM_CTX_PRIVATE context that another thread has created. */
void shi_caller_check_ctx(const char *routine, const struct shmem_ctx *c);

#endif
