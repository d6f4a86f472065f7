/*
 * marks.h - for backends: which copies of a queue have ended. An event follows each submission, so that its end shows while later ones are
 * under way. While all events are in use, the next one to be free covers what was submitted meanwhile.
 */
#ifndef SHI_DEVICE_MARKS_H
#define SHI_DEVICE_MARKS_H

#include <stdint.h>

enum { SHI_MARKS = 8 };

/* Copies of a queue: started; covered by the i-th event; ended. Events first to next - 1, modulo SHI_MARKS, are under way. */
struct shi_marks {
    uint64_t started, covers[SHI_MARKS], ended;
    unsigned first, next;
};

/* The event to place behind what has been started, or -1: nothing is left to cover, or all events are under way. */
static inline int shi_marks_place(const struct shi_marks *m)
{
    uint64_t covered = m->next == m->first ? m->ended : m->covers[(m->next - 1) % SHI_MARKS];
    return covered == m->started || m->next - m->first == SHI_MARKS ? -1 : (int)(m->next % SHI_MARKS);
}

/* It has been placed. */
static inline void shi_marks_placed(struct shi_marks *m)
{
    m->covers[m->next++ % SHI_MARKS] = m->started;
}

/* The event that ends next, or -1: none is under way. */
static inline int shi_marks_first(const struct shi_marks *m)
{
    return m->next == m->first ? -1 : (int)(m->first % SHI_MARKS);
}

/* It has ended. */
static inline void shi_marks_passed(struct shi_marks *m)
{
    m->ended = m->covers[m->first++ % SHI_MARKS];
}

#endif
