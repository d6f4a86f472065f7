/* uid_seats.c - see uid_seats.h. */
#include "host/boot/uid_seats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int shi_uid_seats_up(struct shi_uid_seats *s, int n_pes, const struct shi_uid_who *self)
{
    *s = (struct shi_uid_seats){.n_pes = n_pes, .n = 1, .of_seat = calloc((size_t)n_pes, sizeof *s->of_seat),
                                .of_pe = malloc((size_t)n_pes * sizeof *s->of_pe)};
    if (!s->of_seat || !s->of_pe) {
        shi_uid_seats_down(s);
        return -ENOMEM;
    }
    memset(s->of_pe, 0xff, (size_t)n_pes * sizeof *s->of_pe);
    s->of_seat[0].who = *self;
    s->of_pe[self->pe] = 0;
    return 0;
}

void shi_uid_seats_down(struct shi_uid_seats *s)
{
    free(s->of_seat);
    free(s->of_pe);
    *s = (struct shi_uid_seats){.n_pes = 0};
}

int shi_uid_seats_give(struct shi_uid_seats *s, const struct shi_uid_meet *m, struct shi_uid_seat *out, char *why, size_t bytes)
{
    const struct shi_uid_who *w = &m->who;
    if (m->n_pes != s->n_pes) {
        const struct shi_uid_who *own = &s->of_seat[0].who;
        snprintf(why, bytes, "PE %d (pid %d on %s) has %d PEs, PE %d (pid %d on %s), which made the unique id, has %d", w->pe, w->pid, w->host,
                 m->n_pes, own->pe, own->pid, own->host, s->n_pes);
        return -EPROTO;
    }
    if (w->pe < 0 || w->pe >= s->n_pes) {
        snprintf(why, bytes, "pid %d on %s has the number %d, and there are %d PEs", w->pid, w->host, w->pe, s->n_pes);
        return -EPROTO;
    }
    if (s->of_pe[w->pe] >= 0) {
        const struct shi_uid_who *other = &s->of_seat[s->of_pe[w->pe]].who;
        snprintf(why, bytes, "two processes have the number %d: pid %d on %s and pid %d on %s", w->pe, other->pid, other->host, w->pid,
                 w->host);
        return -EPROTO;
    }
    int seat = s->n++;
    s->of_seat[seat] = *m;
    s->of_pe[w->pe] = seat;
    *out = (struct shi_uid_seat){.seat = seat};
    memcpy(out->parent_at, s->of_seat[shi_uid_parent(seat)].at, sizeof out->parent_at);
    return 0;
}

void shi_uid_seats_missing(const struct shi_uid_seats *s, char *text, size_t bytes)
{
    size_t at = 0;
    *text = 0;
    for (int pe = 0; pe < s->n_pes && at + 32 < bytes; pe++)
        if (s->of_pe[pe] < 0)
            at += (size_t)snprintf(text + at, bytes - at, "%sPE %d", at ? ", " : "", pe);
    if (at + 32 >= bytes)
        snprintf(text + at, bytes - at, ", ...");
}
