/*
 * am_carrier.h - the contract between active messages (am.c) and what carries them: shared memory on a node (am_shm.c),
 * the network's stream between nodes (am_remote.c). am.c calls begin and end for one caller at a time for each PE, and poll
 * on one thread at a time. Also the types that both sides share; am.h has the calls.
 */
#ifndef SHI_AM_CARRIER_H
#define SHI_AM_CARRIER_H

#include <stddef.h>
#include <stdint.h>

#include "host/net/node/net_shm.h"
#include "host/policy/transfer.h"

enum shi_am_id { SHI_AM_TAG, SHI_AM_GPC, SHI_AM_SURVIVE, SHI_AM_PULL /* am_pull.c's own */, SHI_AM_IDS };

/* Of one message with any carrier, and of the longest with one: as much as messages of the stream carry (stream_wire.h). */
enum { SHI_AM_MAX_BYTES = 16320, SHI_AM_LONGEST_BYTES = 65600 };

/* Memory of a PE that another one reads, as described inside a message. */
struct shi_am_src {
    uint64_t addr, key; /* key: the carrier's own */
    uint64_t bytes;
    uint64_t handle;    /* of the exposing PE */
};

/* A read of such memory, embedded in the caller's request. */
struct shi_am_fetch {
    void (*done)(struct shi_am_fetch *self, int err);
    uint64_t priv[24]; /* the carrier's, while in progress */
};

/* This process, valid until shi_am_down. The last three are about the device heap. */
struct shi_am_world {
    int pe, n_pes, local; /* local: index of this PE in shm->region */
    const struct shi_shm *shm;
    uintptr_t data_lo; /* of this PE's static data; heap_lo is in shm */
    int (*in_device)(const void *addr, size_t bytes); /* is this range in this PE's? */
    void *(*device_of)(int pe);                       /* where PE pe's is mapped here */
    void (*device_copy)(void *to, const void *from, size_t bytes); /* either side may be in one */
};

struct shi_am_carrier {
    /* The node's carrier only. up: before the first message; 0 or -errno after one logged line. reaches: does it carry to
     * PE pe? drop: discard what has arrived, whether up was called or not; see shi_am_down. */
    int (*up)(const struct shi_am_world *w);
    int (*reaches)(int pe);
    void (*drop)(const struct shi_am_world *w);
    /* begin and end come in pairs with the PE's lock held between them. */
    void *(*begin)(int pe, size_t bytes);
    void (*end)(int pe, enum shi_am_id id, size_t bytes);
    int (*poll)(int budget); /* hand at most so many messages to shi_am_deliver; how many, and other progress */
    /* The PE has died: hand over what has come from it, and from now on begin and end drop messages to it. As poll. */
    void (*lose)(int pe);
    /* A PE that was lost is another process. */
    void (*renew)(int pe);
    struct shi_message_lengths lengths; /* longest: at least SHI_AM_MAX_BYTES */
    int (*expose)(int pe, const void *addr, size_t bytes, struct shi_am_src *out);
    void (*withdraw)(int pe, const struct shi_am_src *src);
    size_t fetch_bytes; /* of the longest fetch */
    int (*fetch)(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f);
};

#endif
