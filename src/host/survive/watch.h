/* watch.h - a thread that learns which PEs have failed: from pidfds of the PEs of the node, from a connection (lifeline.h), and from other threads. */
#ifndef SHI_WATCH_H
#define SHI_WATCH_H

#include <stdint.h>

/* Watch the other PEs from now on: failed(pe, is_certain) is called, on the thread, once for each PE whose process ends before it has left, or that
 * is reported. is_certain: the process has ended. is_over(pe): 1 for a PE that has failed or left. up makes the tables, before messages are taken; start sends
 * messages. Each returns 0, or -errno after one line. stop ends the thread, down frees the tables. */
int shi_watch_up(void (*failed)(int pe, int is_certain), int (*is_over)(int pe));
int shi_watch_start(void);
void shi_watch_stop(void);
void shi_watch_down(void);

/* Another process has the place of the node's i-th PE, which has not failed any more in the teams from this number on: watch it. */
void shi_watch_again(int i, uint64_t number);

/* PE pe has failed as others say, or seems to have failed. Any thread; it may be called often. */
void shi_watch_report(int pe);

/* A PE has left: the connection may have to be one to another PE. */
void shi_watch_wake(void);

#endif
