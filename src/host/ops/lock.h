/* lock.h - distributed locks: a queue, so that PEs get the lock in the order in which they asked. */
#ifndef SHI_LOCK_H
#define SHI_LOCK_H

void shi_lock_set(const char *routine, long *lock);
int shi_lock_test(const char *routine, long *lock); /* 0: acquired, 1: held by another PE */
void shi_lock_clear(const char *routine, long *lock);

#endif
