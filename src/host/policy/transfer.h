/*
 * transfer.h - how data travels to another PE: by which way a put or get goes, and whether a message's data is sent or read. Functions here
 * have no state and make no calls.
 */
#ifndef SHI_POLICY_TRANSFER_H
#define SHI_POLICY_TRANSFER_H

#include <stddef.h>

/* ---- puts and gets of a PE that only the network reaches --------------------------------------------------------------- */

enum { SHI_RECORD_BYTES = 8192 }; /* of data in one record */

/* RECORDS: copied into and out of messages. DIRECT: written or read by the network's hardware. RENDEZVOUS: the target reads the data
 * from registered memory here, or writes it there. STAGED: in pieces through chunks of pipeline.h. */
enum shi_remote_way { SHI_REMOTE_RECORDS, SHI_REMOTE_DIRECT, SHI_REMOTE_RENDEZVOUS, SHI_REMOTE_STAGED };

struct shi_way_facts {
    size_t bytes, copied;    /* of the operation; up to so many a record is better than a write: at most SHI_RECORD_BYTES */
    unsigned reached : 1;    /* writes and reads can name the memory there */
    unsigned accessed : 1;   /* the network can access the memory here */
    unsigned registered : 1; /* peers have the key of the memory here */
    unsigned hidden : 1;     /* the host cannot access the memory here */
    unsigned chunks : 1;     /* there are chunks */
};

enum shi_remote_way shi_way_of(const struct shi_way_facts *f);

/* ---- messages ------------------------------------------------------------------------------------------------------------ */

/* node: through shared memory; longest: of a message. */
struct shi_message_facts {
    int node;
    size_t longest;
};

/* For messages to one PE. Data of at most `whole` bytes goes in one message with its head, longer data in parts; data of more than `eager`
 * bytes, or `symmetric` in symmetric memory, is read by its receiver instead. */
struct shi_message_lengths {
    size_t longest, whole, eager, symmetric;
};
enum { SHI_MESSAGE_HEAD_BYTES = 40 }; /* of the longest head */

struct shi_message_lengths shi_message_lengths_of(const struct shi_message_facts *f);

enum shi_message_way { SHI_MESSAGE_WHOLE, SHI_MESSAGE_PARTS, SHI_MESSAGE_READ };

/* eager: the limit for this data. */
static inline enum shi_message_way shi_message_way(size_t bytes, size_t whole, size_t eager)
{
    return bytes > eager ? SHI_MESSAGE_READ : bytes > whole ? SHI_MESSAGE_PARTS : SHI_MESSAGE_WHOLE;
}

/* A read of another PE's private memory on a node: into pieces of so many bytes, of which the memory's owner copies some; 0: the reader
 * copies all of it. */
size_t shi_shared_read_piece(size_t bytes);

#endif
