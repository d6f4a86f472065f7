/*
 * wrap_coll.c - collectives: which buffers each PE's call reads and writes until it returns, and whose call it is after.
 *
 * A PE's result needs the source of every PE, or the root's: its return is after their calls. Nothing says that the others have returned, or
 * that what they have put is complete.
 */
#include "race/clock.h"
#include "race/node.h"
#include "race/wrap.h"

struct buffers {
    const void *dest, *source;
    size_t dest_bytes, source_bytes;
};

/* Distances of elements, in bytes; 0: one range. */
struct steps {
    size_t dest, source, element;
};

static void range(const struct race_op *op, enum race_kind kind, const char *at, size_t bytes, size_t step, size_t element)
{
    if (!at)
        return;
    if (step <= element)
        race_op_collective(op, kind, at, bytes);
    else
        for (size_t i = 0; i < bytes; i += element, at += step)
            race_op_collective(op, kind, at, element);
}

/* The clock is given first, so that the buffers are accessed in an epoch that the others do not know yet. */
static struct race_group *enter(struct race_op *op, struct race_group *g, int root, const struct buffers *b, const struct steps *step)
{
    if (!op->u || !g)
        return NULL;
    race_group_give(op->u, g, root);
    range(op, RACE_COLL_READ, b->source, b->source_bytes, step->source, step->element);
    range(op, RACE_COLL_WRITE, b->dest, b->dest_bytes, step->dest, step->element);
    return g;
}

static int rank_in(const struct race_group *g)
{
    for (int i = 0; i < g->n; i++)
        if (g->pe[i] == race_node.me)
            return i;
    return -1;
}

#define COLLECTIVE(GROUP, ROOT, BUFFERS, CALL) COLLECTIVE_AT(GROUP, ROOT, BUFFERS, ({0, 0, 0}), CALL)
#define COLLECTIVE_AT(GROUP, ROOT, BUFFERS, STEPS, CALL)                                                                       \
    RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                                   \
    struct race_group *g = op.u ? GROUP : NULL;                                                                      \
    if (g) {                                                                                                         \
        const struct buffers b = SHMEM_UNWRAP BUFFERS;                                                               \
        const struct steps step = SHMEM_UNWRAP STEPS;                                                                \
        g = enter(&op, g, ROOT, &b, &step);                                                                          \
    }                                                                                                                \
    CALL;                                                                                                            \
    if (g)                                                                                                           \
        race_group_take(op.u, g, ROOT);
#define TEAM race_group_of_team(team)
#define TEAM_CALL(ROOT, BUFFERS, CALL)                                                                               \
    COLLECTIVE(TEAM, ROOT, BUFFERS, int error = CALL)                                                                \
    return error;
#define N ((size_t)g->n)
#define BYTES(E) (nelems * (E))

/* The root's dest is written by the team's form only. */
#define DO_broadcast(F, T, E)                                                                                        \
    TEAM_CALL(PE_root, ({dest, rank_in(g) == PE_root ? source : NULL, BYTES(E), BYTES(E)}),                          \
              F(team, dest, source, nelems, PE_root))
/* How much others contribute to a collect is not known before it: its dest is the least that it can be. */
#define DO_collect(F, T, E) TEAM_CALL(-1, ({dest, source, BYTES(E), BYTES(E)}), F(team, dest, source, nelems))
#define DO_fcollect(F, T, E) TEAM_CALL(-1, ({dest, source, N * BYTES(E), BYTES(E)}), F(team, dest, source, nelems))
#define DO_alltoall(F, T, E)                                                                                         \
    TEAM_CALL(-1, ({dest, source, N * BYTES(E), N * BYTES(E)}), F(team, dest, source, nelems))
#define SPREAD(E) {dest, source, N * BYTES(E), N * BYTES(E)}
#define STEPS(E) {(size_t)dst * (E), (size_t)sst * (E), E}
#define DO_alltoalls(F, T, E)                                                                                        \
    COLLECTIVE_AT(TEAM, -1, (SPREAD(E)), (STEPS(E)), int error = F(team, dest, source, dst, sst, nelems))            \
    return error;
#define REDUCE(F, E, COUNT)                                                                                          \
    TEAM_CALL(-1, ({dest, source == dest ? NULL : source, (COUNT) * (E), (COUNT) * (E)}), F(team, dest, source, COUNT))
#define DO_and_reduce(F, T, E) REDUCE(F, E, nreduce)
#define DO_or_reduce(F, T, E) REDUCE(F, E, nreduce)
#define DO_xor_reduce(F, T, E) REDUCE(F, E, nreduce)
#define DO_max_reduce(F, T, E) REDUCE(F, E, nreduce)
#define DO_min_reduce(F, T, E) REDUCE(F, E, nreduce)
#define DO_sum_reduce(F, T, E) REDUCE(F, E, nreduce)
#define DO_prod_reduce(F, T, E) REDUCE(F, E, nreduce)
#define DO_sum_inscan(F, T, E) REDUCE(F, E, nelems)
#define DO_sum_exscan(F, T, E) REDUCE(F, E, nelems)

#define SET race_group_of_set(PE_start, logPE_stride, PE_size, pSync)
#define TO_ALL(F, E)                                                                                                 \
    COLLECTIVE(SET, -1, ({dest, source == dest ? NULL : source, (size_t)nreduce * (E), (size_t)nreduce * (E)}),      \
               F(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync))
#define DO_and_to_all(F, T, E) TO_ALL(F, E)
#define DO_or_to_all(F, T, E) TO_ALL(F, E)
#define DO_xor_to_all(F, T, E) TO_ALL(F, E)
#define DO_max_to_all(F, T, E) TO_ALL(F, E)
#define DO_min_to_all(F, T, E) TO_ALL(F, E)
#define DO_sum_to_all(F, T, E) TO_ALL(F, E)
#define DO_prod_to_all(F, T, E) TO_ALL(F, E)

#define ROW(F, N_, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                        \
    SHMEM_IF_##RMA(SHMEM_API_COLL(F##_C, F##_P, N_, T)) SHMEM_IF_##AND(SHMEM_API_AND(F##_C, F##_P, N_, T))           \
        SHMEM_IF_##MAX(SHMEM_API_MAX(F##_C, F##_P, N_, T)) SHMEM_IF_##SUM(SHMEM_API_SUM(F##_C, F##_P, N_, T))        \
            SHMEM_IF_##OW(SHMEM_API_OB(F##_C, F##_P, N_, T)) SHMEM_IF_##OM(SHMEM_API_OM(F##_C, F##_P, N_, T))        \
                SHMEM_IF_##OS(SHMEM_API_OS(F##_C, F##_P, N_, T))
SHMEM_TYPES(ROW, RACE_DEF)

RACE_WRAP(int, shmem_broadcastmem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root)){
    DO_broadcast(pshmem_broadcastmem, char, 1)}

RACE_WRAP(int, shmem_collectmem,
          (shmem_team_t team, void *dest, const void *source, size_t nelems)){DO_collect(pshmem_collectmem, char, 1)}

RACE_WRAP(int, shmem_fcollectmem,
          (shmem_team_t team, void *dest, const void *source, size_t nelems)){DO_fcollect(pshmem_fcollectmem, char, 1)}

RACE_WRAP(int, shmem_alltoallmem,
          (shmem_team_t team, void *dest, const void *source, size_t nelems)){DO_alltoall(pshmem_alltoallmem, char, 1)}

RACE_WRAP(int, shmem_alltoallsmem,
          (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems)){
    DO_alltoalls(pshmem_alltoallsmem, char, 1)}

#define OLD_SIZED(Z)                                                                                                           \
    RACE_WRAP(void, shmem_broadcast##Z,                                                                                        \
              (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride,                     \
               int PE_size, long *pSync)){                                                                                     \
        COLLECTIVE(SET, PE_root,                                                                                               \
                   ({rank_in(g) == PE_root ? NULL : dest, rank_in(g) == PE_root ? source : NULL, BYTES(Z / 8), BYTES(Z / 8)}), \
                   pshmem_broadcast##Z(dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size,                         \
                                       pSync))} RACE_WRAP(void, shmem_collect##Z,                                              \
                                                          (void *dest, const void *source, size_t nelems,                      \
                                                           int PE_start, int logPE_stride, int PE_size, long *pSync)){         \
        COLLECTIVE(SET, -1, ({dest, source, BYTES(Z / 8), BYTES(Z / 8)}),                                                      \
                   pshmem_collect##Z(dest, source, nelems, PE_start, logPE_stride, PE_size,                                    \
                                     pSync))} RACE_WRAP(void, shmem_fcollect##Z,                                               \
                                                        (void *dest, const void *source, size_t nelems,                        \
                                                         int PE_start, int logPE_stride, int PE_size, long *pSync)){           \
        COLLECTIVE(SET, -1, ({dest, source, N * BYTES(Z / 8), BYTES(Z / 8)}),                                                  \
                   pshmem_fcollect##Z(dest, source, nelems, PE_start, logPE_stride, PE_size,                                   \
                                      pSync))} RACE_WRAP(void, shmem_alltoall##Z,                                              \
                                                         (void *dest, const void *source, size_t nelems,                       \
                                                          int PE_start, int logPE_stride, int PE_size, long *pSync)){          \
        COLLECTIVE(SET, -1, ({dest, source, N * BYTES(Z / 8), N * BYTES(Z / 8)}),                                              \
                   pshmem_alltoall##Z(dest, source, nelems, PE_start, logPE_stride, PE_size,                                   \
                                      pSync))} RACE_WRAP(void, shmem_alltoalls##Z,                                             \
                                                         (void *dest, const void *source, ptrdiff_t dst,                       \
                                                          ptrdiff_t sst, size_t nelems, int PE_start,                          \
                                                          int logPE_stride, int PE_size, long *pSync))                         \
    {                                                                                                                          \
        COLLECTIVE_AT(SET, -1, (SPREAD(Z / 8)), (STEPS(Z / 8)),                                                                            \
                   pshmem_alltoalls##Z(dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, pSync))                \
    }
OLD_SIZED(32) OLD_SIZED(64)
