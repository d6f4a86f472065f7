/*
 * match.h - match tagged messages with receives, at a cost that does not grow with the number of either.
 *
 * There are two uses: posted receives (each with a mask, and perhaps any source), which a message searches for a match;
 * and arrived messages (exact), which a receive searches. The result is the earliest entry that matches. Entries are
 * embedded in requests and messages; callers lock.
 *
 * A tuple space: for each class (mask, any source or not) a growing hash table by masked key, with a FIFO of entries of equal
 * masked key. A posted receive is in the table of its own class, and a message looks in each class in use. An arrived
 * message is in the tables of all classes that receives use, made at the first look-up of a class and dropped when no
 * look-up uses it any more. Up to SHI_MATCH_SHORT entries, and the first few of more, are searched linearly; an entry
 * enters tables only when a look-up has passed those, so messages that match in the order of arrival never do.
 */
#ifndef SHI_MATCH_H
#define SHI_MATCH_H

#include <stddef.h>
#include <stdint.h>

enum { SHI_MATCH_SHORT = 12, SHI_MATCH_ANY = -1 };

struct shi_match_key {
    uint64_t tag, mask; /* bits outside the mask do not count */
    uint64_t team;      /* exact */
    int32_t source;     /* or SHI_MATCH_ANY */
};

/* An entry's node in one class. */
struct shi_match_node {
    struct shi_match_entry *entry;
    struct shi_match_class *class;         /* NULL: not in use */
    struct shi_match_node *after, *before; /* ring of those with the same key, the earliest first */
    struct shi_match_node *down, **up;     /* of the earliest: chain of the bucket; others have up = NULL */
    struct shi_match_node *more;           /* the entry's next node, or the next free one */
};

struct shi_match_entry {
    struct shi_match_key key;
    uint64_t seq; /* the order of addition */
    struct shi_match_entry *next, *prev;
    struct shi_match_node own;
};

struct shi_match {
    struct shi_match_entry *first, *last; /* all, in the order of addition */
    struct shi_match_entry *fresh;        /* from here on they are in no table */
    size_t n;
    uint64_t seq;
    struct shi_match_class **classes;
    int n_classes, room;
    int live;     /* classes in use */
    int arrived;  /* which of the two uses */
    struct shi_match_node *free;
    struct shi_match_slab *slabs;
};

/* arrived: 0 for posted receives, 1 for arrived messages. */
void shi_match_up(struct shi_match *m, int arrived);
void shi_match_down(struct shi_match *m);

/* e->key is set. */
void shi_match_add(struct shi_match *m, struct shi_match_entry *e);

/* The earliest entry that matches, or NULL; it stays. Among posted receives the key must be exact. */
struct shi_match_entry *shi_match_find(struct shi_match *m, const struct shi_match_key *key);

void shi_match_remove(struct shi_match *m, struct shi_match_entry *e);

#endif
