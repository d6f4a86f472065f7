/* config.c - settings from the environment, and the clock. */
#include "ze_cpu/config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ze_cpu/race.h"

enum { THREADS_MAX = 256 };

/* Sanitizers check the accesses of the interpreter, not those of translated code. */
#if defined(__has_feature)
#define ZC_SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ZC_SANITIZED 1
#else
#define ZC_SANITIZED 0
#endif

struct zc_config zc_config;

/* A number from the environment, limited to [least, most]. */
static unsigned env(const char *name, unsigned otherwise, unsigned least, unsigned most)
{
    const char *s = getenv(name);
    unsigned long v = s && *s ? strtoul(s, NULL, 0) : otherwise;
    return v < least ? least : v > most ? most : (unsigned)v;
}

/* Devices that do not exist end the list, as for CUDA_VISIBLE_DEVICES. "1.0", a part of device 1, is device 1. */
static void select_devices(const char *affinity)
{
    unsigned all = env("ZE_CPU_DEVICES", 1, 1, ZC_DEVICES), n = 0;
    const char *s = getenv(affinity);
    for (unsigned i = 0; i < all; i++)
        zc_config.device[i] = i;
    zc_config.devices = all;
    if (!s || !*s)
        return;
    for (char *end; n < ZC_DEVICES; n++, s = end + 1) {
        unsigned long i = strtoul(s, &end, 10);
        if (end == s || i >= all)
            break;
        zc_config.device[n] = (unsigned)i;
        end += strcspn(end, ",");
        if (!*end) {
            n++;
            break;
        }
    }
    zc_config.devices = n;
}

void zc_config_up(const char *affinity)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    select_devices(affinity);
    zc_config.threads = env("ZE_CPU_THREADS", cores > 0 ? (unsigned)cores : 1, 1, THREADS_MAX);
    zc_config.check = env("ZE_CPU_CHECK", 0, 0, 1);
    zc_config.count = env("ZE_CPU_COUNT", 0, 0, 1);
    zc_config.private_memory = env("ZE_CPU_PRIVATE", 0, 0, 1);
    zc_config.reorder = env("ZE_CPU_REORDER", 0, 0, 1);
    zc_config.peers = env("ZE_CPU_PEERS", 1, 0, 1);
    zc_config.locals = env("CUDA_CPU_LOCALS", 1, 0, 1);
    zc_config.lanes = env("ZE_CPU_LANES", 1, 0, 1) && !zc_config.private_memory;
    zc_config.race = dlsym(RTLD_DEFAULT, ZC_RACE_NAME);
    zc_config.native =
        env("ZE_CPU_NATIVE", 1, 0, 1) && !zc_config.check && !zc_config.count && !zc_config.race && !ZC_SANITIZED;
}

uint64_t zc_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
