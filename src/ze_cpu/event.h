/* event.h - events and fences. */
#ifndef ZC_EVENT_H
#define ZC_EVENT_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>

enum zc_flag_value { FLAG_CLEAR, FLAG_DONE, FLAG_LOST };

/* A word that is set once and wakes its waiters; it may lie in memory that processes share. */
struct zc_flag {
    _Atomic uint32_t value; /* enum zc_flag_value */
    _Atomic uint32_t waiters;
};
void zc_flag_set(struct zc_flag *f, enum zc_flag_value v);
enum zc_flag_value zc_flag_get(struct zc_flag *f);
/* Success once the flag is done, device lost when it is lost, not ready after the timeout. */
ze_result_t zc_flag_wait(struct zc_flag *f, uint64_t timeout_ns);

/* The part of an event that processes share. */
struct zc_event_state {
    struct zc_flag flag;
    uint64_t began_ns, ended_ns;
};
struct _ze_event_handle_t {
    struct zc_event_state *state; /* its index's in the pool, or own */
    struct zc_event_state own;
    void *clock;                  /* of what it was signaled after, in this process; see clocks.h */
    _Atomic bool *taken;          /* of its index; NULL: with own, or of a pool of another process */
};
struct _ze_fence_handle_t {
    struct zc_flag flag;
    void *clock;
};

#endif
