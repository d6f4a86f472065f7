/*
 * place.h - places: where an access is in the program, and by which routine it is made. All PEs number them alike.
 */
#ifndef RACE_PLACE_H
#define RACE_PLACE_H

#include "race/race.h"

/* A place is a return address in the program, the routine that was called there, NULL for a load or store, and how it is atomic, as in
 * RACE_ATOMIC_OF. 0: no room. */
uint32_t race_place_find(const void *pc, const char *routine, unsigned atomic);

/* Called with each place that a thread uses, at the time of the access; NULL: nothing. Set before the job runs. */
extern RACE_HIDDEN void (*race_place_used)(uint32_t place);

/* By address and routine, the places that the thread has used: direct-mapped, since the shared table needs the module. Where race_place_used is
 * set, race_place_of finds none of these. */
enum { RACE_NEAR = 1024 };
extern RACE_HIDDEN __thread struct race_near {
    const void *pc;
    const char *routine;
    uint32_t place, atomic;
} race_near[RACE_NEAR] __attribute__((tls_model("initial-exec")));

static inline uint32_t race_place_of(const void *pc, const char *routine, unsigned atomic)
{
    uintptr_t p = (uintptr_t)pc;
    const struct race_near *n = &race_near[(p ^ p >> 10) % RACE_NEAR];
    return n->pc == pc && n->routine == routine && n->atomic == atomic ? n->place : race_place_find(pc, routine, atomic);
}

/* A place in a kernel: its routine is RACE_IN_KERNEL and the kernel's name, the module the source's file, "" where that is not known; the offset
 * is the line, or the number of the instruction. */
#define RACE_IN_KERNEL "kernel "
uint32_t race_place_of_kernel(const char *kernel, const char *file, uint32_t line);
/* The same place, of an atomic of this type. */
uint32_t race_place_atomic(uint32_t place, unsigned atomic);

/* What the cell's place says: the routine or NULL, the module's file and the offset of the return address in it. */
void race_place_read(uint32_t place, const char **routine, const char **module, uint64_t *offset);

#endif
