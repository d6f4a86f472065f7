/* memory.c - how much memory this process can still get, by /proc and /sys/fs/cgroup; pages allocated before their first use. */
#include "host/util/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Files of a cgroup: limit, usage; the keys in memory.stat of file pages, which the kernel reclaims. */
struct version {
    const char *mount, *limit, *usage, *key[2];
};
static const struct version v1 = {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                  {"total_inactive_file", "total_active_file"}};
static const struct version v2 = {"", "memory.max", "memory.current", {"inactive_file", "active_file"}};

/* The number behind `key` in a file of lines "key number"; with key "" the file's first number. -1: none. */
static long long number_in(const char *path, const char *key)
{
    char line[256];
    long long n = -1;
    FILE *f = fopen(path, "re");
    while (f && n < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), " %lld", &n) != 1)
            n = -1;
    if (f)
        fclose(f);
    return n;
}

static long long cgroup_number(const char *folder, const char *file, const char *key)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path ? number_in(path, key) : -1;
}

/* What one cgroup allows. */
static size_t room_of(const char *folder, const struct version *v)
{
    long long limit = cgroup_number(folder, v->limit, ""), used = cgroup_number(folder, v->usage, "");
    if (limit < 0 || used < 0)
        return SIZE_MAX;
    for (int i = 0; i < 2; i++) {
        long long file = cgroup_number(folder, "memory.stat", v->key[i]);
        used -= file > 0 ? file : 0;
    }
    return used >= limit ? 0 : (size_t)(limit - (used > 0 ? used : 0));
}

/* What a cgroup and those above it allow. A container may see its own cgroup as the topmost. */
static size_t room_of_all(const char *root, const struct version *v, const char *path)
{
    char folder[PATH_MAX];
    int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, v->mount);
    size_t least = SIZE_MAX;
    if (top + strlen(path) >= sizeof folder)
        return least;
    strcpy(folder + top, path);
    for (char *end = folder + strlen(folder); end; end = strrchr(folder + top, '/')) {
        *end = 0;
        size_t room = room_of(folder, v);
        least = room < least ? room : least;
    }
    return least;
}

size_t shi_memory_room(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    long long kib = number_in(path, "MemAvailable:");
    size_t least = kib < 0 ? SIZE_MAX : (size_t)kib * 1024;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) { /* number:controllers:path */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        const struct version *v = !controllers[1] ? &v2 : strcmp(controllers + 1, "memory") == 0 ? &v1 : NULL;
        size_t room = v ? room_of_all(root, v, group) : SIZE_MAX;
        least = room < least ? room : least;
    }
    if (f)
        fclose(f);
    return least;
}

int shi_memory_populate(void *addr, size_t bytes, int n)
{
    enum { SOME = 16 << 20 };
    for (size_t done = 0, some; done < bytes; done += some) {
        some = bytes - done < SOME ? bytes - done : SOME;
        if (shi_memory_room("") / (size_t)n < some)
            return -ENOMEM;
        if (madvise((char *)addr + done, some, MADV_POPULATE_WRITE))
            return errno == EINVAL ? 0 : -ENOMEM; /* EFAULT: a limit of the kernel, which a store would meet as SIGBUS */
    }
    return 0;
}
