/*
 * uid_wire.h - the frames between processes of a job that is started by a unique id, and who is whose parent.
 *
 * Seats are numbers in the order in which processes came to the one that made the id, which has seat 0. Seat 1 is the child of seat 0 and has up to
 * SHI_UID_FAN children, as all others: so one process, seat 1, sees that seat 0 dies. A seat is later than its parent's, so a process that
 * comes can be told its parent's address at once, and seat 0 keeps no connection but that of seat 1.
 */
#ifndef SHI_UID_WIRE_H
#define SHI_UID_WIRE_H

#include <stdint.h>

enum { SHI_UID_FAN = 4 };

static inline int shi_uid_parent(int seat)
{
    return seat < 2 ? 0 : 1 + (seat - 2) / SHI_UID_FAN;
}

static inline int shi_uid_first_child(int seat)
{
    return seat == 0 ? 1 : 2 + (seat - 1) * SHI_UID_FAN;
}

static inline int shi_uid_children(int seat, int n)
{
    int first = shi_uid_first_child(seat), most = seat == 0 ? 1 : SHI_UID_FAN;
    return first >= n ? 0 : n - first < most ? n - first : most;
}

/* A process, for lines to the user. */
struct shi_uid_who {
    int32_t pe, pid;
    char host[64], program[64]; /* end with 0 */
};

/* After it came from another process. */
static inline void shi_uid_clip(struct shi_uid_who *w)
{
    w->host[sizeof w->host - 1] = w->program[sizeof w->program - 1] = 0;
}

enum shi_uid_type {
    SHI_UID_MEET = 1, /* to seat 0: struct shi_uid_meet */
    SHI_UID_SEAT,     /* its answer: struct shi_uid_seat */
    SHI_UID_REFUSED,  /* or this: a text, without a zero at its end; a job that starts ends */
    SHI_UID_JOIN,     /* to the parent: struct shi_uid_join */
    SHI_UID_JOINED,   /* its answer: struct shi_uid_who of the parent */
    SHI_UID_UP,       /* in a fence, to the parent: what the subtree has published (uid_data.h) */
    SHI_UID_DOWN,     /* to the children: what all have published */
    SHI_UID_FAILED,   /* to the parent: struct shi_uid_failed, as far as seat 0, which judges */
    SHI_UID_END,      /* to the children: int32_t, the status with which all end */
    SHI_UID_BYE,      /* no more frames come, and the end of the connection is no failure */
    SHI_UID_TABLE     /* or this answer to MEET, once the job has started: what all have published; the process takes the place of a PE that has died */
};

struct shi_uid_meet {
    int32_t n_pes;
    unsigned char at[18]; /* where its children reach it */
    unsigned char zero[2];
    struct shi_uid_who who;
};

struct shi_uid_seat {
    int32_t seat;
    unsigned char parent_at[18]; /* of seats above 1 */
    unsigned char zero[2];
};

struct shi_uid_join {
    int32_t seat;
    struct shi_uid_who who;
};

/* A process has died, or ends the job. */
enum { SHI_UID_ENDED = 1, SHI_UID_SILENT };

struct shi_uid_failed {
    int32_t died; /* not 0: its connection has ended without SHI_UID_BYE, by its process or by silence; status is what the others end with */
    int32_t status;
    struct shi_uid_who who;
};

#endif
