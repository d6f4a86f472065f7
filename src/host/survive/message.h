/* message.h - messages about teams, between PEs of which some fail. */
#ifndef SHI_MESSAGE_H
#define SHI_MESSAGE_H

#include "host/coll/team.h"

enum shi_message_kind { SHI_MESSAGE_AGREE, SHI_MESSAGE_REVOKE, SHI_MESSAGE_FAILED, SHI_MESSAGE_LEFT, SHI_MESSAGE_EXIT, SHI_MESSAGE_LISTENS, SHI_MESSAGE_KINDS };

/* The first words of each message. */
struct shi_message {
    uint64_t team; /* its number; of the world, if it is about PEs */
    uint64_t kind;
};

/* PE pe has sent `bytes` bytes, which begin with m. t: the team, which does not end meanwhile; NULL: it has ended here. One at a time;
 * it may send. */
typedef void shi_message_take(struct shmem_team *t, int pe, const struct shi_message *m, size_t bytes);

/* Take messages of all kinds from now on. 0 or -errno after one line. Pair: shi_message_down. */
int shi_message_up(shi_message_take *const take[SHI_MESSAGE_KINDS]);
void shi_message_down(void);

/* Send a copy, now or when there is room; a message to a PE that has failed is dropped. Messages to a PE arrive in their order. Any thread. */
void shi_message_send(int pe, const struct shi_message *m, size_t bytes);

/* How many wait for room. */
int shi_message_unsent(void);

#endif
