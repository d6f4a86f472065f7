/* failed.h - the PEs that this PE knows to have failed, in the order in which it learned of them. Any thread. */
#ifndef SHI_FAILED_H
#define SHI_FAILED_H

#include <stdint.h>

/* Room for n_pes PEs, none failed. 0 or -ENOMEM. Pair: shi_failed_down. */
int shi_failed_up(int n_pes);
void shi_failed_down(void);

/* PE pe has failed. Only the thread that watches calls it. */
void shi_failed_add(int pe);

int shi_failed_count(void);
int shi_failed_nth(int i); /* i < shi_failed_count() */
int shi_failed_is(int pe);

/* Another process has the number of PE pe: it has not failed in the teams from this number on, and stays failed in earlier ones. No other thread of
 * the program is in a call. */
void shi_failed_replace(int pe, uint64_t number);
int shi_failed_in(int pe, uint64_t number);
int shi_failed_any_replaced(void);

/* How many the program has acknowledged, the first ones; shi_failed_ack acknowledges all and returns their number. */
int shi_failed_acked(void);
int shi_failed_ack(void);

#endif
