/*
 * generic_calls.c - preprocessed, not compiled, into generic_calls.h: a call of every generic with every type.
 *
 * The table expands while the generic names are not macros yet; within a table loop they could not expand recursively.
 */
#include "args.h"
#include "shmem_table.h"

#define CALL_P(R, NAME, N, T, PARAMS)                                                                                \
    (void)shmem##NAME(ARGS##NAME);                                                                                   \
    expect(#NAME, 0, ID(T), #N);
#define CALL_C(R, NAME, N, T, PARAMS)                                                                                \
    CALL_P(R, NAME, N, T, PARAMS)                                                                                    \
    (void)shmem##NAME(ctx, ARGS##NAME);                                                                              \
    expect(#NAME, 1, ID(T), #N);
#define TYPE(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                                    \
    static void generics_of_##N(void)                                                                                \
    {                                                                                                                \
        NAMES(T)                                                                                                     \
        SHMEM_IF_##RMA(SHMEM_API_RMA(F##_C, F##_P, N, T) SHMEM_API_COLL(F##_C, F##_P, N, T))                         \
        SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, F##_P, N, T) SHMEM_API_OA(F##_C, F##_P, N, T))                           \
        SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, F##_P, N, T) SHMEM_API_OX(F##_C, F##_P, N, T))                           \
        SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, F##_P, N, T))                                                            \
        SHMEM_IF_##WT(SHMEM_API_WT(F##_C, F##_P, N, T) SHMEM_API_SYN(F##_C, F##_P, N, T))                            \
        SHMEM_IF_##AND(SHMEM_API_AND(F##_C, F##_P, N, T))                                                            \
        SHMEM_IF_##MAX(SHMEM_API_MAX(F##_C, F##_P, N, T))                                                            \
        SHMEM_IF_##SUM(SHMEM_API_SUM(F##_C, F##_P, N, T))                                                            \
    }
SHMEM_TYPES(TYPE, CALL)


#define DO(F, N, ...) generics_of_##N();
static void all_generics(void)
{
    SHMEM_TYPES(DO, )
}
