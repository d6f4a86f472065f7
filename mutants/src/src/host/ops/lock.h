/* lock.h - distributed locks: a PE polls briefly, then it queues, and PEs in the queue get the lock in order. */
#ifndef SHI_LOCK_H
#define SHI_LOCK_H

void shi_lock_set(const char *routine, long *lock);
int shi_lock_test(const char *routine, long *lock); /* 0: acquired, 1: held by another PE */
void shi_lock_clear(const char *routine, long *lock);

#endif
