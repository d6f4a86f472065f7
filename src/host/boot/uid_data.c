/*
 * uid_data.c - see uid_data.h.
 *
 *   word          written by                              read by   order
 *   news          the PE, in shmem_init                   the same  lock
 *   of_pe         uid_tree.c's thread, at a fence's end   the PE    lock
 */
#include "host/boot/uid_data.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/util/log.h"

struct head {
    uint32_t pe, key_bytes, data_bytes;
};

struct entry {
    struct entry *next;
    uint32_t key_bytes, data_bytes;
    unsigned char bytes[]; /* the key, then the data */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shi_uid_bytes news;
static struct entry **of_pe;
static int own_pe, n_pes;

static int add_record(struct shi_uid_bytes *b, int pe, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    struct head h = {(uint32_t)pe, (uint32_t)key_bytes, (uint32_t)bytes};
    size_t before = b->to;
    int err = shi_uid_bytes_append(b, &h, sizeof h);
    err = err ? err : shi_uid_bytes_append(b, key, h.key_bytes);
    err = err ? err : shi_uid_bytes_append(b, data, bytes);
    if (err)
        b->to = before;
    return err;
}

int shi_uid_data_publish(const char *key, const void *data, size_t bytes)
{
    pthread_mutex_lock(&lock);
    int err = add_record(&news, own_pe, key, strlen(key), data, bytes);
    pthread_mutex_unlock(&lock);
    if (err)
        shi_log_error("out of memory for what this PE publishes");
    return err;
}

int shi_uid_data_take_news(struct shi_uid_bytes *to)
{
    pthread_mutex_lock(&lock);
    int err = shi_uid_bytes_append(to, news.at, shi_uid_bytes_used(&news));
    shi_uid_bytes_free(&news);
    pthread_mutex_unlock(&lock);
    return err;
}

int shi_uid_data_take_all(struct shi_uid_bytes *to)
{
    int err = 0;
    pthread_mutex_lock(&lock);
    for (int pe = 0; pe < n_pes; pe++)
        for (const struct entry *e = of_pe[pe]; e && !err; e = e->next)
            err = add_record(to, pe, e->bytes, e->key_bytes, e->bytes + e->key_bytes, e->data_bytes);
    pthread_mutex_unlock(&lock);
    return err;
}

int shi_uid_data_up(int pe, int n)
{
    of_pe = calloc((size_t)n, sizeof *of_pe);
    own_pe = pe;
    n_pes = of_pe ? n : 0;
    return of_pe ? 0 : -ENOMEM;
}

void shi_uid_data_down(void)
{
    for (int pe = 0; pe < n_pes; pe++)
        for (struct entry *e = of_pe[pe], *next; e; e = next) {
            next = e->next;
            explicit_bzero(e, sizeof *e + e->key_bytes + e->data_bytes);
            free(e);
        }
    free(of_pe);
    shi_uid_bytes_free(&news);
    of_pe = NULL;
    n_pes = own_pe = 0;
}

static struct entry **find(int pe, const void *key, size_t key_bytes)
{
    struct entry **at = &of_pe[pe];
    while (*at && ((*at)->key_bytes != key_bytes || memcmp((*at)->bytes, key, key_bytes) != 0))
        at = &(*at)->next;
    return at;
}

static int learn(const void *from, size_t bytes)
{
    const unsigned char *p = from, *end = p + bytes;
    struct head h;
    for (; p < end; p += (size_t)h.key_bytes + h.data_bytes) {
        if ((size_t)(end - p) < sizeof h)
            return -EPROTO;
        memcpy(&h, p, sizeof h);
        p += sizeof h;
        if (h.pe >= (uint32_t)n_pes || (uint64_t)h.key_bytes + h.data_bytes > (uint64_t)(end - p))
            return -EPROTO;
        struct entry *e = malloc(sizeof *e + h.key_bytes + h.data_bytes), **at = find((int)h.pe, p, h.key_bytes);
        if (!e)
            return -ENOMEM;
        *e = (struct entry){*at ? (*at)->next : NULL, h.key_bytes, h.data_bytes};
        memcpy(e->bytes, p, (size_t)h.key_bytes + h.data_bytes);
        free(*at);
        *at = e;
    }
    return 0;
}

int shi_uid_data_learn(const void *from, size_t bytes)
{
    pthread_mutex_lock(&lock);
    int err = learn(from, bytes);
    pthread_mutex_unlock(&lock);
    return err;
}

int shi_uid_data_lookup(int pe, const char *key, void *data, size_t bytes)
{
    pthread_mutex_lock(&lock);
    const struct entry *e = pe < n_pes ? *find(pe, key, strlen(key)) : NULL;
    int err = !e ? -ENOENT : e->data_bytes == bytes ? 0 : -EMSGSIZE;
    if (e)
        memcpy(data, e->bytes + e->key_bytes, e->data_bytes < bytes ? e->data_bytes : bytes);
    pthread_mutex_unlock(&lock);
    return err;
}
