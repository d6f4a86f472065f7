/*
 * torn.h - detect words that are half written: each copy sets all bytes of a word to one value, and a reader looks for words whose bytes
 * differ.
 */
#ifndef TORN_H
#define TORN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Words of 2, 4 or 8 bytes within these bytes that are half written now; at is a multiple of the word's size. */
static inline size_t torn_words(const void *at, size_t bytes, size_t word)
{
    size_t found = 0;
    for (size_t i = 0; i + word <= bytes; i += word) {
        const char *p = (const char *)at + i;
        uint64_t v = word == 8   ? __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED)
                     : word == 4 ? __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED)
                                 : __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED);
        found += v != (v & 0xff) * (0x0101010101010101u >> (64 - 8 * word));
    }
    return found;
}

/* The same by a thread, from torn_watch to torn_found. */
static struct {
    pthread_t thread;
    const void *at;
    size_t bytes, word, found;
    int reads, stop;
} torn;

static inline void *torn_reader(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&torn.stop, __ATOMIC_RELAXED)) {
        torn.found += torn_words(torn.at, torn.bytes, torn.word);
        __atomic_store_n(&torn.reads, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static inline int torn_watch(const void *at, size_t bytes, size_t word)
{
    torn.at = at;
    torn.bytes = bytes;
    torn.word = word;
    torn.found = 0;
    torn.reads = torn.stop = 0;
    if (pthread_create(&torn.thread, NULL, torn_reader, NULL))
        return 0;
    while (!__atomic_load_n(&torn.reads, __ATOMIC_RELAXED))
        ;
    return 1;
}

static inline size_t torn_found(void)
{
    __atomic_store_n(&torn.stop, 1, __ATOMIC_RELAXED);
    pthread_join(torn.thread, NULL);
    return torn.found;
}

#endif
