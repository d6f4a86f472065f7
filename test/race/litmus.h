/*
 * litmus.h - what the programs of litmus.c and litmus_more.c have in common. A list of programs ends with NULL.
 */
#ifndef LITMUS_H
#define LITMUS_H

struct litmus {
    const char *name, *rule;
    void (*run)(void);
};

extern const struct litmus litmus_more[], litmus_again[];
extern int me, mended;

#endif
