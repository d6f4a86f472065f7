/*
 * launched.c - names of the kernels that were launched since the last wait. Which of them runs is not known: a queue
 * runs one after the other.
 *
 *   word    written by              read by                 order
 *   now     threads, under lock     all, signal handlers    R1 -> A1 the words that it chooses are whole
 *   words   threads, under lock     all, signal handlers    those that are not chosen are written
 */
#include "host/ops/launched.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 8, NAME_BYTES = 64, WORDS_BYTES = 400 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all but now and words */
static char name[NAMED][NAME_BYTES];
static int n, more; /* named; others */
static uint64_t count;
static char words[2][WORDS_BYTES] = {"a kernel"};
static int now;

static void compose(void)
{
    int other = !__atomic_load_n(&now, __ATOMIC_RELAXED);
    char *to = words[other];
    size_t at = (size_t)snprintf(to, WORDS_BYTES, "%s", !n ? "a kernel" : n + more == 1 ? "kernel " : "one of the kernels ");
    for (int i = 0; i < n && at < WORDS_BYTES; i++)
        at += (size_t)snprintf(to + at, WORDS_BYTES - at, "%s%s", i ? ", " : "", name[i]);
    if (more && at < WORDS_BYTES)
        snprintf(to + at, WORDS_BYTES - at, " and %d more", more);
    __atomic_store_n(&now, other, __ATOMIC_RELEASE); /* R1 */
}

void shi_launched_add(const char *kernel)
{
    pthread_mutex_lock(&lock);
    count++;
    int known = 0;
    for (int i = 0; i < n; i++)
        known |= strncmp(name[i], kernel, NAME_BYTES - 1) == 0;
    if (!known && n < NAMED)
        snprintf(name[n++], NAME_BYTES, "%s", kernel);
    else if (!known)
        more++;
    if (!known)
        compose();
    pthread_mutex_unlock(&lock);
}

uint64_t shi_launched_count(void)
{
    pthread_mutex_lock(&lock);
    uint64_t so_far = count;
    pthread_mutex_unlock(&lock);
    return so_far;
}

void shi_launched_ended(uint64_t so_far)
{
    pthread_mutex_lock(&lock);
    if (so_far == count && n > 0) { /* else others were launched meanwhile: the names stay until those have ended, too */
        n = more = 0;
        compose();
    }
    pthread_mutex_unlock(&lock);
}

const char *shi_launched_words(void)
{
    return words[__atomic_load_n(&now, __ATOMIC_ACQUIRE)]; /* A1 */
}
