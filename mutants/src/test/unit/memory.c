/*
 * memory.c - how much memory a process can get, for recorded /proc and /sys of several kinds of systems.
 */
#include "../tap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/util/memory.h"

static char root[64];

static void write_file(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *p = name + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(name, 0700);
    }
    FILE *f = fopen(name, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void new_system(long long available_kib)
{
    char text[128];
    strcpy(root, "/tmp/fulmar.memory.XXXXXX");
    CHECK(mkdtemp(root) != NULL);
    snprintf(text, sizeof text, "MemTotal:  16777216 kB\nMemAvailable: %8lld kB\n", available_kib);
    write_file("/proc/meminfo", text);
}

static void check_room(size_t expected)
{
    char command[128];
    size_t room = shi_memory_room(root);
    CHECKF(room == expected, "%zu bytes, not %zu", room, expected);
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK(system(command) == 0);
}

/* Catches: KiB taken for bytes; a system without cgroups, or without /proc, that has no room. */
static void host(void)
{
    new_system(1000);
    check_room(1000 << 10);
    strcpy(root, "/nonexistent");
    CHECK(shi_memory_room(root) == SIZE_MAX);
    CHECK(shi_memory_room("") > 1 << 20);
}

/* Catches: a limit of a cgroup above that is ignored (Slurm limits the job and the step); "max" read as a number; file pages
 * counted as used. */
static void version_2(void)
{
    new_system(1000000);
    write_file("/proc/self/cgroup", "0::/slurm/job/step\n");
    write_file("/sys/fs/cgroup/slurm/job/step/memory.max", "max\n");
    write_file("/sys/fs/cgroup/slurm/job/step/memory.current", "5000000\n");
    write_file("/sys/fs/cgroup/slurm/job/memory.max", "7000000\n");
    write_file("/sys/fs/cgroup/slurm/job/memory.current", "6000000\n");
    write_file("/sys/fs/cgroup/slurm/job/memory.stat", "anon 5\nactive_file 1000\ninactive_file 20000\nslab 7\n");
    write_file("/sys/fs/cgroup/slurm/memory.max", "9000000\n");
    write_file("/sys/fs/cgroup/slurm/memory.current", "6000000\n");
    check_room(1000000 + 21000);
}

/* Catches: the controllers' line of another controller; version 1 without limit, which is a huge number; a container that
 * sees its own cgroup at the top. */
static void version_1(void)
{
    new_system(4000);
    write_file("/proc/self/cgroup", "5:cpu:/a\n4:memory:/a/b\n0::/\n");
    write_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1\n");
    check_room(4000 << 10);
    new_system(4000);
    write_file("/proc/self/cgroup", "4:memory:/docker/b\n");
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
    write_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "3500000\n");
    write_file("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file 600000\n");
    check_room(100000);
}

int main(void)
{
    RUN(host, "by /proc/meminfo");
    RUN(version_2, "cgroups of version 2");
    RUN(version_1, "cgroups of version 1");
    return tap_end();
}
