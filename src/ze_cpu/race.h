/*
 * race.h - what a library that looks for data races (libfulmar_race) learns of kernels: a table of functions, which the driver looks up by its
 * versioned name when it starts. Without it nothing is called, and kernels are built as if there were none. With it they are interpreted.
 *
 * A clock says what has happened before; NULL: nothing. Any thread may use it, the library locks. The functions of a group are called by one
 * thread at a time.
 */
#ifndef ZC_RACE_H
#define ZC_RACE_H

#include <stddef.h>
#include <stdint.h>

#define ZC_RACE_NAME "fulmar_race_kernels_1"

enum zc_race_what { ZC_RACE_LOAD, ZC_RACE_STORE, ZC_RACE_ATOMIC_LOAD, ZC_RACE_ATOMIC_STORE, ZC_RACE_ATOMIC };

/* An access of a work-item; order: of an atomic one, as __ATOMIC_RELAXED. place: of the function `place`. */
struct zc_race_access {
    uint64_t addr;
    size_t bytes;
    enum zc_race_what what;
    int order;
    uint32_t item, place;
};

struct zc_race {
    /* What the calling host thread has done becomes part of the clock; the thread is from now on after the clock. */
    void (*now)(void **clock);
    void (*reach)(void *const *clock);
    void (*join)(void **clock, void *const *other);
    void (*drop)(void **clock);

    /* A number for a place of a kernel's source; file NULL: line is the number of an instruction. */
    uint32_t (*place)(const char *kernel, const char *file, uint32_t line);

    /* A work-group begins after the clock; NULL: nothing of it is reported. first: number of its first work-item in the launch. */
    void *(*group)(void *const *clock, uint64_t first, uint32_t items);
    void (*group_end)(void *group, void **clock);
    /* All work-items of the group, or those from `first` on before `end`, have met. */
    void (*meet)(void *group, uint32_t first, uint32_t end);
    /* Called before the access. */
    void (*access)(void *group, const struct zc_race_access *a);
    void (*fence)(void *group, uint32_t item, int order);
    /* The work-item has stored word k of a call of the device library, see device/lib/race_words.h; the word 0 comes last. */
    void (*call)(void *group, uint32_t item, uint32_t place, unsigned k, uint64_t value);
};

/* Where the device library stores these words: no address of memory. */
#define ZC_RACE_WORDS 0x46756c6d61730000ull
enum { ZC_RACE_WORD_COUNT = 16 };

#endif
