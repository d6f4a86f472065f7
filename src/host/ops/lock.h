/* lock.h - distributed locks: a PE polls briefly, then it queues, and PEs in the queue get the lock in order. */
#ifndef SHI_LOCK_H
#define SHI_LOCK_H

#include <stdint.h>

void shi_lock_set(const char *routine, long *lock);
int shi_lock_test(const char *routine, long *lock); /* 0: acquired, 1: held by another PE */
void shi_lock_clear(const char *routine, long *lock);

/* Not NULL: PEs may fail, and the others go on. Then PEs do not queue for a lock, but poll it. A lock whose PE has failed may be taken; the PE
 * that takes it calls inherited; one that finds that the PE with its state has failed, and cannot be reached, calls gone. Set by host/survive. */
extern const struct shi_lock_faults {
    int (*has_failed)(int pe);
    uint32_t (*holder)(void);           /* this process as a lock's holder: its PE + 1 in the low 24 bits, not 0; */
    int (*has_holder_failed)(uint32_t); /* another process may have the same PE later */
    void (*inherited)(void), (*gone)(void);
} *shi_lock_faults;

#endif
