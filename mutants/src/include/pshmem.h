/* pshmem.h - the profiling interface (section 10): every routine under its pshmem_ name. */
#ifndef PSHMEM_H
#define PSHMEM_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define SHMEM_FN(R, NAME, PARAMS) R p##NAME PARAMS;
SHMEM_FOR_EACH_UNTYPED(SHMEM_FN)
SHMEM_FOR_EACH_TYPED(SHMEM_EMIT)
SHMEM_API_SIZED(SHMEM_EMIT_S)
#undef SHMEM_FN

#ifdef __GNUC__
__attribute__((noreturn))
#endif
void pshmem_global_exit(int status);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
