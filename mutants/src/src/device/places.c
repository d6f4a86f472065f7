/* places.c - where memory lies: see places.h. A list, because a process has a few dozen ranges. */
#include "device/places.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static struct range {
    const char *at;
    size_t bytes;
    enum shi_place place;
    struct range *next;
} *ranges;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void shi_places_learn(const void *at, size_t bytes, enum shi_place place)
{
    struct range *r = malloc(sizeof *r);
    if (!r)
        return;
    pthread_mutex_lock(&lock);
    *r = (struct range){at, bytes, place, ranges};
    ranges = r;
    pthread_mutex_unlock(&lock);
}

void shi_places_forget(const void *at)
{
    pthread_mutex_lock(&lock);
    struct range **r = &ranges, *gone;
    while (*r && (*r)->at != at)
        r = &(*r)->next;
    if ((gone = *r))
        *r = gone->next;
    pthread_mutex_unlock(&lock);
    free(gone);
}

void shi_places_down(void)
{
    pthread_mutex_lock(&lock);
    for (struct range *r; (r = ranges); free(r))
        ranges = r->next;
    pthread_mutex_unlock(&lock);
}

enum shi_place shi_places_find(const void *addr)
{
    pthread_mutex_lock(&lock);
    const struct range *r = ranges;
    while (r && (uintptr_t)addr - (uintptr_t)r->at >= r->bytes)
        r = r->next;
    enum shi_place place = r ? r->place : SHI_PLACE_UNKNOWN;
    pthread_mutex_unlock(&lock);
    return place;
}
