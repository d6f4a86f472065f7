/* watch.h - a thread that learns when a process of another PE of the node ends. */
#ifndef SHI_WATCH_H
#define SHI_WATCH_H

/* Watch the other PEs of the node from now on: ended(pe) is called, on the thread, once for each PE whose process ends before it has left the
 * job (left_job in net_shm.h). 0, or -errno after one line. Pair: shi_watch_down. */
int shi_watch_up(void (*ended)(int pe));
void shi_watch_down(void);

#endif
