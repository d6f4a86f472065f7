/*
 * trace_format.h - the families of operations that statistics and traces count, and the format of trace files.
 *
 * Each PE writes its events to FILE.PE.part, a mapped file, so that they survive however the job ends. At finalize, or later
 * by oshinfo --join, the parts are joined into FILE, in Chrome's trace-event format.
 */
#ifndef SHI_TRACE_FORMAT_H
#define SHI_TRACE_FORMAT_H

#include <stdint.h>

/* Families of operations: X(WORD, NAME, has targets). Those with targets come first. */
#define SHI_FOR_EACH_FAMILY(X)                                                                                       \
    X(PUTS, put, 1) X(GETS, get, 1) X(ATOMICS, atomic, 1) X(SIGNALS, signal, 1) X(COLLECTIVES, collective, 1)        \
    X(BARRIERS, barrier, 0) X(WAITS, wait, 0) X(LOCKS, lock, 0) X(ORDERS, order, 0) X(MEMORY, memory, 0)

/* How the bytes move. */
#define SHI_FOR_EACH_WAY(X) X(STORES, stores) X(NETWORK, network) X(DEVICE, device) X(RING, ring)

#define X(WORD, ...) SHI_##WORD,
enum shi_family { SHI_FOR_EACH_FAMILY(X) SHI_FAMILIES, SHI_TARGETED = SHI_BARRIERS };
#undef X
#define X(WORD, NAME) SHI_BY_##WORD,
enum shi_way { SHI_FOR_EACH_WAY(X) SHI_WAYS };
#undef X
extern const char *const shi_family_name[SHI_FAMILIES], *const shi_way_name[SHI_WAYS];

/* Values of `to` that are no PE. */
enum { SHI_TO_NONE = -2, SHI_TO_ALL = -1 };

enum { SHI_TRACE_HEAD_BYTES = 4096, SHI_TRACE_VERSION = 2, SHI_TRACE_NAME_BYTES = 48 };

/* Values of `thread` that are no thread of the program: kernels, from launch to end, and their requests in the ring, from the
 * proxy's first look to completion. These events may overlap. */
enum { SHI_TRACE_KERNELS = 0xfffe, SHI_TRACE_REQUESTS = 0xffff };

/* Symmetric memory, the same on all PEs: the offset in the heap, in static data or in the device heap, plus one of these; 0 is
 * other memory. */
enum { SHI_PLACE_SHIFT = 60, SHI_PLACE_HEAP = 1, SHI_PLACE_DATA, SHI_PLACE_DEVICE };

/* Barriers of all PEs at the start and at the end, by which the nodes' clocks are compared. */
enum { SHI_TRACE_AT_START, SHI_TRACE_AT_END, SHI_TRACE_SYNCS, SHI_TRACE_ROUNDS = 16 };
struct shi_trace_sync {
    uint32_t n, pad; /* 0: none */
    struct {
        uint64_t enter_ns, exit_ns;
    } round[SHI_TRACE_ROUNDS];
};

/* A part is this header, padded to SHI_TRACE_HEAD_BYTES, and a ring of `room` events: event i is at i % room, and the last
 * `room` of all `written` events are there. */
struct shi_trace_head {
    char magic[8];              /* "FULMARTR" */
    uint32_t version, event_bytes;
    int32_t pe, n_pes, node;    /* node: its first PE */
    uint32_t pad;
    uint64_t start_ns;          /* when the PE started, on the node's clock */
    int64_t to_real_ns;         /* add to the node's clock to get the time of day */
    uint64_t written, room;
    char host[64];
    struct shi_trace_sync sync[SHI_TRACE_SYNCS];
};

/* The family of an event that is no call: a data race, which libfulmar_race has found. Its start is the later access, by this PE. */
enum { SHI_TRACE_RACE = 0xff, SHI_TRACE_EARLIER_BYTES = 32 };

struct shi_trace_event {
    uint64_t start_ns, took_ns, bytes; /* of a race: took_ns is 0 */
    union {
        struct {
            uint64_t at, extent; /* where the call writes at PE `to`: [at, at + extent); 0: nowhere, or only the word */
            uint64_t word, value; /* the word that it updates, and its new value; of a wait, the word that ended it and what it
                                   * held. 0: none */
            uint64_t false_ns;    /* of a wait: at this time the word did not satisfy it; 0: it was satisfied at its start */
        };
        struct { /* of a race: the earlier access, by PE `to` */
            char earlier[SHI_TRACE_EARLIER_BYTES]; /* like name, at most without the last 0 */
            uint64_t earlier_ns;                   /* on the node's clock; 0: not known */
        };
    };
    int32_t to;                 /* world PE, SHI_TO_ALL, SHI_TO_NONE */
    uint16_t thread;            /* or SHI_TRACE_KERNELS, _REQUESTS */
    uint8_t family, way;
    uint8_t word_bytes;
    uint8_t has_value;          /* 0: value is unknown */
    char name[SHI_TRACE_NAME_BYTES]; /* the routine; of a race: the access's source line, a space, and its routine */
    uint16_t earlier_thread;
    char pad[4];
};
_Static_assert(sizeof(struct shi_trace_event) == 128, "oshinfo reads what the library writes");
_Static_assert(sizeof(struct shi_trace_head) <= SHI_TRACE_HEAD_BYTES, "events follow the header");

/* libfulmar_race has a function of this versioned name, which takes these functions when the trace starts. */
#define SHI_TRACE_RACES "fulmar_race_trace_1"
struct shi_trace_calls {
    void (*add)(const char *name, const struct shi_trace_event *e); /* thread 0: the calling one */
    uint16_t (*thread)(void);                                       /* the number of the calling thread, from 1 */
    uint64_t (*now_ns)(void);                                       /* the node's clock */
};

/* The name of PE pe's part of the trace `path`, in malloc'd memory, or NULL. */
char *shi_trace_part_name(const char *path, int pe);

/* Join the parts into `path` and remove them. Returns the number of parts found, or -errno; *n_pes is the
 * job's number of PEs, *lost the number of events overwritten because they did not fit. */
int shi_trace_join(const char *path, int *n_pes, uint64_t *lost);

#endif
