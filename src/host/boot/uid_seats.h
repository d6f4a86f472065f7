/* uid_seats.h - at the process that made the id: who has come, and where each is in the tree (uid_wire.h). No I/O. */
#ifndef SHI_UID_SEATS_H
#define SHI_UID_SEATS_H

#include <stddef.h>

#include "host/boot/uid_wire.h"

struct shi_uid_seats {
    int n_pes, n; /* n: have come */
    struct shi_uid_meet *of_seat;
    int *of_pe; /* -1: has not come */
};

/* self has seat 0. 0 or -ENOMEM. Pair: shi_uid_seats_down. */
int shi_uid_seats_up(struct shi_uid_seats *s, int n_pes, const struct shi_uid_who *self);
void shi_uid_seats_down(struct shi_uid_seats *s);

/* Give a process a seat. 0 and *out; or -EPROTO and why it cannot be of this job. */
int shi_uid_seats_give(struct shi_uid_seats *s, const struct shi_uid_meet *m, struct shi_uid_seat *out, char *why, size_t bytes);

/* "PE 3, PE 5": those that have not come; "" when all have. */
void shi_uid_seats_missing(const struct shi_uid_seats *s, char *text, size_t bytes);

#endif
