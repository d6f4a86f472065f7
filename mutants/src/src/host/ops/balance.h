/*
 * balance.h - where PEs share cores, a PE that waits moves to a core on which fewer PEs wait. Linux may leave three of four PEs on one of
 * two cores, as they only yield.
 */
#ifndef SHI_BALANCE_H
#define SHI_BALANCE_H

/* A wait yields the core. Now and then: if two more PEs have waited on this core than on another one that the thread may use, and this is
 * the last PE of them, move the thread there. Its affinity stays as it is. */
void shi_balance(void);

#endif
