/*
 * backend.c - what device.h asks of a backend, as far as it can be asked without kernels. cuda.sh runs it for the CUDA backend, the recipe
 * doc/new-device.md for a new one, which -DBACKEND names.
 */
#include "../tap.h"

#include <errno.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"

#ifndef BACKEND
#define BACKEND shi_device_cuda
#endif
extern const struct shi_device_ops BACKEND;
static const struct shi_device_ops *const ops = &BACKEND;
enum { BYTES = 3 << 20, POLLS = 600000 /* a minute */ };
static char *memory, in[BYTES], out[BYTES];
static int to_child;
static pid_t child;

/* Catches: a number of devices that changes, a description without its end, a device that cannot be used again. */
static void devices(void)
{
    int n = ops->probe(), host_access = -1;
    CHECK(n > 0 && ops->probe() == n);
    for (int i = 0; i < n; i++) {
        char text[256] = "", cut[8] = "";
        ops->describe(i, text, sizeof text);
        ops->describe(i, cut, sizeof cut);
        CHECKF(strstr(text, SHI_DEVICE_STORES) || strstr(text, SHI_DEVICE_COPIES), "device %d: %s", i, text);
        CHECK(memchr(cut, 0, sizeof cut) != NULL);
    }
    CHECK(ops->up(0, &host_access) == 0);
    ops->down();
    CHECK(ops->up(0, &host_access) == 0 && (host_access == 0 || host_access == 1));
}

/* Catches: a copy of one direction only, of fewer bytes, that has not ended on return; memory with two owners. */
static void copies(void)
{
    char *other = NULL;
    for (int i = 0; i < BYTES; i++)
        in[i] = (char)(i * 7 + i / 251);
    CHECK(ops->alloc(BYTES, (void **)&memory) == 0 && ops->alloc(BYTES, (void **)&other) == 0);
    CHECK(other >= memory + BYTES || memory >= other + BYTES);
    CHECK(ops->copy(memory, in, BYTES) == 0 && ops->copy(other, memory, BYTES) == 0 && ops->copy(out, other, BYTES) == 0);
    CHECK(memcmp(in, out, BYTES) == 0);
    CHECK(ops->copy(memory + 1, in + 5, 3) == 0 && ops->copy(out, memory, 8) == 0);
    CHECK(memcmp(out, (char[]){in[0], in[5], in[6], in[7], in[4], in[5], in[6], in[7]}, 8) == 0);
    if (ops->clear) {
        CHECK(ops->clear(other + 64, 4096) == 0 && ops->copy(out, other, 8192) == 0);
        for (int i = 0; i < 8192; i++)
            if (!CHECKF(out[i] == (i >= 64 && i < 4160 ? 0 : in[i]), "byte %d after clear", i))
                break;
    }
    ops->release(other);
}

/* Catches: memory for both that is not zero or has another address on the device; copies that overtake others or are never counted. */
static void started(void)
{
    uint64_t *shared, ended = 0, before = 0;
    if (!ops->alloc_shared || !CHECK(ops->alloc_shared(4096, (void **)&shared) == 0))
        return;
    for (int i = 0; i < 512; i++)
        if (!CHECK(shared[i] == 0))
            break;
    for (uint64_t i = 0; i < 64; i++) { /* each copies what the one before it has stored */
        shared[i] = i + 1;
        const struct shi_device_copy both[] = {{memory, shared + i, 8, 0}, {shared + 256 + i, memory, 8, 0}};
        CHECK(ops->copies_start(SHI_DEVICE_REQUESTS, both, i % 2 ? 1 : 2) == 0);
        CHECK(i % 2 == 0 || ops->copies_start(SHI_DEVICE_REQUESTS, both + 1, 1) == 0);
    }
    for (int i = 0; i < POLLS && ended < 128; i++) {
        CHECK(ops->copies_ended(SHI_DEVICE_REQUESTS, &ended) == 0);
        CHECKF(ended >= before && ended <= 128, "%d copies have ended, before %d", (int)ended, (int)before);
        for (uint64_t k = 0; k < ended / 2; k++)
            if (!CHECKF(__atomic_load_n(&shared[256 + k], __ATOMIC_ACQUIRE) == k + 1, "copy %d of %d", (int)k, (int)ended))
                return;
        before = ended;
        usleep(100);
    }
    CHECK(ended == 128);
    CHECK(ops->copies_ended(SHI_DEVICE_RECORDS, &ended) == 0 && ended == 0);
}

/* Catches: an image of another backend that is taken or reported; kernels that never end where none has begun. */
static void kernels(void)
{
    void *module;
    CHECK(ops->load("no image of any device", 22, &module) == -ENOEXEC);
    CHECK(ops->busy() == 0 && ops->sync() == 0);
}

/* The other process: map what it is told of, and copy it to host memory. The exit status says how far it came. */
static int map_and_compare(int from)
{
    struct shi_device_share share;
    char *mapped;
    int host_access, copies_only;
    if (read(from, &share, sizeof share) != sizeof share || read(from, in, 4096) != 4096)
        return 1;
    if (ops->probe() < 1 || ops->up(0, &host_access))
        return 2;
    if (ops->map(&share, BYTES, (void **)&mapped, &copies_only))
        return 3;
    if (ops->copy(out, mapped, 4096) || memcmp(in, out, 4096))
        return 4;
    ops->unmap(mapped);
    ops->down();
    return 0;
}

/* Catches: memory that other processes of the node cannot map, or map elsewhere. */
static void shared_memory(void)
{
    struct shi_device_share share = {.pid = getpid()};
    int status = -1;
    CHECK(ops->copy(memory, in, 4096) == 0 && ops->share(memory, &share) == 0);
    CHECK(write(to_child, &share, sizeof share) == sizeof share && write(to_child, in, 4096) == 4096);
    CHECK(waitpid(child, &status, 0) == child);
    CHECKF(status == 0, "the other process: status %x", (unsigned)status);
    ops->release(memory);
    ops->down();
}

int main(void)
{
    int fd[2];
    if (pipe(fd) || (child = fork()) < 0)
        return 99;
    if (!child) { /* before this process uses a device: drivers do not survive a fork */
        close(fd[1]);
        return map_and_compare(fd[0]);
    }
    close(fd[0]);
    to_child = fd[1];
    RUN(devices, "devices and their descriptions");
    RUN(copies, "memory and copies");
    RUN(started, "copies that end later");
    RUN(kernels, "images and kernels");
    RUN(shared_memory, "memory that another process maps");
    return tap_end();
}
