/*
 * team.h - teams: who belongs, what number each has, and the sync slot the members meet in.
 *
 * Every PE's sync area is an array of slots; a team uses the slot of the same index on each member. Words of a slot
 * only grow: a team starts counting above all that any member ever counted (shi_team_clock), so a slot is never
 * cleared and a late reader of an older team's word is released, never confused.
 */
#ifndef SHI_TEAM_H
#define SHI_TEAM_H

#include "host/ops/world.h"

enum { SHI_SLOTS = 1024, SHI_SLOT_WORLD = 0, SHI_SLOT_SHARED = 1, SHI_ROUNDS = 24 };

/*
 *   word            written by                        read by         order
 *   flag[r].seen    partner of round r                owner of slot   R1 -> A1 dissemination barrier
 *   arrived         members, fetch-add, last resets   members         R2 -> A2 counting barrier, slot of member 0
 *   released        last to arrive                    members         R3 -> A3
 *
 * R1 -> A1, R2 -> A2 -> R3 -> A3  all that a member did before the barrier is seen by every member after it.
 */
struct shi_slot {
    struct {
        _Alignas(SHI_LINE_BYTES) uint64_t seen;
    } flag[SHI_ROUNDS];
    _Alignas(SHI_LINE_BYTES) uint64_t arrived;
    _Alignas(SHI_LINE_BYTES) uint64_t released;
    _Alignas(SHI_LINE_BYTES) char room[4096 - (SHI_ROUNDS + 2) * SHI_LINE_BYTES];
};
_Static_assert(sizeof(struct shi_slot) == 4096, "a slot is a page, so that unused ones cost nothing");

struct shmem_team {
    const struct shi_peer *peer; /* [n] by team PE */
    struct shi_slot **slot;      /* [n] by team PE: that member's slot, mapped here */
    int n, me;
    int start, stride;           /* world PE of team PE i is start + i * stride */
    int index;                   /* of its slot */
    int crowded;                 /* its members outnumber the cores */
    uint64_t epoch;              /* of the last barrier */
    shmem_team_config_t config;
};

extern struct shmem_team shi_team_world;

/* Set up the world team from shi_world; 0 or -errno. Pair: shi_team_down. */
int shi_team_up(void);
void shi_team_down(void);

/* Barrier among the members: nobody leaves before everybody came, and what was stored before is seen after. */
void shi_team_barrier(struct shmem_team *t);

#endif
