/*
 * race.h - libfulmar_race: the data races of a program that was compiled with `oshcc --race`, named.
 *
 * Contract. The compiler's thread-sanitizer instrumentation reports each load and store of the program (tsan.c), and this library defines
 * every shmem_ routine over its pshmem_ name (wrap_*.c), so that libfulmar does not know of it, but for the trace (trace.h). Two accesses race if they touch a byte in
 * common, at least one writes, they are not both atomic in one atomicity domain with one type, and no event of doc/memory-model.md orders
 * them. Only pairs with at least one access by an OpenSHMEM routine, by another PE or by a function of a GPC are reported: other races between
 * loads and stores of one PE's threads are ThreadSanitizer's. A pair is found from the accesses that were executed, whatever their timing was.
 * Where the state below has no room, accesses are forgotten or considered ordered: a race may be missed, none is invented.
 *
 * Shadow. Each 8 bytes of memory (a granule) have 4 cells of 8 bytes; a cell is one access (cell.h): actor, its epoch, kind, bytes of the
 * granule, place (where it is in the program); a pending access also has stream and stream's epoch, in a record (record.h). The cells of
 * symmetric memory, static, heap and added, are in one file that all PEs of the host map (node.c): a PE that accesses a peer's memory checks and
 * records in the peer's cells at the time of the call. Those of private memory are in the process; while the PE has one thread they hold
 * the buffers of nonblocking calls only. A load or store that a cell already holds, of this actor in this epoch, returns after a
 * compare; the first one of an epoch updates the cells, of a page that no other PE has accessed without atomic operations (page.h).
 *
 * Time. An actor is a thread of a PE, or work-items of a kernel (kernel.h); its epoch grows with each event by which others can learn of it. A stream is a context
 * of a PE; its epoch grows with each fence, quiet and put-with-signal. An operation that is pending (a put, an atomic that does not fetch,
 * everything nonblocking) is recorded with its stream's epoch; a completed access has stream 0. An actor's clock (clock.h) says
 *     T[actor]             up to which epoch it is after the actor's accesses
 *     Q[stream]            up to which epoch it is after a quiet of the stream: everything is complete
 *     F[stream]            up to which epoch it is after a fence of the stream
 *     L[stream]            up to which epoch what fetches, and local buffers, are complete: shmemx_flush
 *     D[stream][PE]        up to which epoch the stream's operations to this PE were delivered before something that it has seen
 *     exact                single operations that it knows to be delivered: data that a signal announced
 * An old access O at PE b is ordered before a new one X by u if T_u[O.actor] >= O.epoch and, where O is pending,
 *     Q_u[O.stream] >= O.stream_epoch, or
 *     O fetches or is a local buffer, and L_u[O.stream] >= O.stream_epoch, or
 *     O is of a kind that fences order, and D_u[O.stream][b] >= O.stream_epoch, or O is in exact_u, or
 *     X is a put or an atomic of the same stream, O is of a kind that fences order, and F_u[O.stream] >= O.stream_epoch.
 *
 * A put is pending from its issue until a quiet of its context, or a barrier where that is the default one. Its source is read at the call, by
 * a nonblocking one until the quiet: it is recorded in the cells of the source as a pending read, a nonblocking get's destination as a
 * pending write; loads and stores check these.
 *
 * Clocks travel with what synchronises (sync.c): a word that an atomic, a signal or a short put updates has a clock in the shared file. The
 * update joins the clock of its actor into it, with D[stream][target] raised to F[stream], and for put-with-signal with its own data
 * as exact; a wait, a successful test, signal_fetch and a fetching atomic join it into theirs. wait_until also completes the operations in the cells of its
 * word, since it has seen their effect. Barriers and collectives join the clocks of their members, a lock has one clock.
 *
 *   word                   written by                      read by            order
 *   cells of a page        its holder (page.h)             all                page.h; relaxed reads only ask for an access equal to one's own
 *   record of an actor     its actor                       all                record.h: R1 (fence) -> A1 (fence), R2 (first, release) -> A2
 *   clock of a word        owner of its lock               owner of its lock  R3 (unlock, release) -> A3 (lock, acquire)
 *   place, module          the thread that takes it        reports            R4 (key, release) -> A4 (key, acquire)
 *   added                  owner of the lock `adding`      owner of the lock  R5 (unlock, release) -> A5 (lock, acquire)
 *   seen                   reports, by compare-and-swap    reports            none: a set of hashes
 *   rows, races, leaving   all, atomic max and add         all                relaxed
 *   stream.epoch           the PE's threads, atomic add    the PE's threads   relaxed: T says which issues a quiet is after
 */
#ifndef RACE_H
#define RACE_H

#include <stddef.h>
#include <stdint.h>

#define RACE_HIDDEN __attribute__((visibility("hidden")))
#define RACE_API __attribute__((visibility("default")))
#define RACE_CALLER __builtin_return_address(0)
#define race_unlikely(X) __builtin_expect(!!(X), 0)

enum race_kind {
    RACE_NONE,
    RACE_LOAD,      /* a load, or a blocking call's read of its source */
    RACE_STORE,     /* a store, or a blocking call's write of its local destination */
    RACE_GET,       /* remote, complete at return */
    RACE_PUT,       /* remote, pending */
    RACE_GET_NBI,   /* remote, pending */
    RACE_AMO,       /* does not fetch: pending */
    RACE_AMO_READ,  /* atomic_fetch */
    RACE_AMO_FETCH, /* fetches and updates: complete at return */
    RACE_AMO_NBI_READ,
    RACE_AMO_NBI,
    RACE_SOURCE,    /* local, pending read of a nonblocking call */
    RACE_DEST,      /* local, pending write of a nonblocking call */
    RACE_COLL_READ, /* by a collective */
    RACE_COLL_WRITE,
    RACE_KINDS
};

struct race_clock;
enum { RACE_NEAR_RECORDS = 16, RACE_NEAR_CELLS = 16 };

/* A thread of this PE that takes part: in thread-local storage, NULL before shmem_init, after shmem_finalize and for threads of libraries. */
struct race_thread {
    struct race_clock *clock;
    uint32_t epoch; /* T[actor] of its clock */
    unsigned actor;
    unsigned number; /* thread number within the PE, for reports */
    int busy;        /* it holds a page: a handler of a signal records nothing */
    uint64_t load, store; /* cells of its loads and stores of this epoch, without mask and place */
    uint64_t self, version; /* of its clock, as clock.h says; self is of no other thread of the job. 0: of none */
    uint64_t known[RACE_NEAR_CELLS]; /* cells without mask, of memory of its PE, that the thread is after */
    uint16_t record[RACE_NEAR_RECORDS]; /* of its last pending accesses, by place */
    /* A work-item of a kernel, see kernel.h; 0: a thread. Work-items of one group are one actor, from epoch `born` on: */
    uint32_t item;   /* 1 + its number in the launch */
    uint32_t born;   /* epochs before are of an earlier user of the actor, */
    uint32_t before; /* and the group is after those up to this one */
    uint32_t after;  /* it is after the accesses of other work-items of the group up to this epoch */
};

extern RACE_HIDDEN __thread struct race_thread *race_thread __attribute__((tls_model("initial-exec")));
extern RACE_HIDDEN int race_running; /* between shmem_init and shmem_finalize */

struct race_thread *race_thread_attach(void);
/* u becomes an actor, with its clock as it is; it is no longer one. */
void race_thread_enter(struct race_thread *u);
void race_thread_leave(const struct race_thread *u);
/* What the thread does from now on is not after what it has done, but after this clock: it becomes another actor if there is one. */
void race_thread_turn(struct race_thread *u, const struct race_clock *after);

/* The calling thread, or NULL while the job does not run. */
static inline struct race_thread *race_self(void)
{
    struct race_thread *u = race_thread;
    if (race_unlikely(!u) && race_running)
        u = race_thread_attach();
    return u;
}

#endif
