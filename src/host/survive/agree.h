/* agree.h - agreements of the members of a team, some of which may have died; on active messages. */
#ifndef SHI_AGREE_MEMBERS_H
#define SHI_AGREE_MEMBERS_H

#include "host/coll/team.h"
#include "host/survive/agreement.h"
#include "host/survive/message.h"

int shi_agree_up(void);
void shi_agree_down(void);

/* From the team with this number on, agreements of the world are among all that live then, and begin anew: prepare, after which this PE takes messages of the new
 * ones, then, before the first call, begin. */
void shi_agree_prepare(uint64_t number);
void shi_agree_begin(uint64_t number);

/* A message of an agreement. */
shi_message_take shi_agree_take;

/*
 * Collective over the living members of the team, which may be failed or revoked: *record becomes the merge of the records of at
 * least all of them, and, unless it is NULL, dead[i] is 1 for the members that have died, as the members agree. The same at all that return.
 * Stores that a living member made before its call are visible after it. How many have died.
 */
int shi_agree_members(const char *routine, struct shmem_team *t, struct shi_agree_record *record, char *dead);

/* The same of what members offer to a split: *all becomes the merge. */
void shi_agree_offers(const char *routine, struct shmem_team *t, struct shi_offer *all, char *dead);

/* The same of the world, without a result; it also ends when over() is 1: another PE knows that all living ones have called. */
void shi_agree_all(const char *routine, int (*over)(void));

#endif
