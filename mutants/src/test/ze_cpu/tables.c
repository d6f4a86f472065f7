/*
 * tables.c - the function tables that the driver exports, as loaders of several versions request them. The installed
 * loader has one version only, so this test opens the driver itself.
 */
#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#include "zt.h"

static void *driver;

typedef ze_result_t (*get_table)(ze_api_version_t version, void *table);
enum { WORDS = 64 };
static void *const mark = &driver;

/* Number of entries that the driver writes for API version 1.minor; -1 if it writes one from index `keep` on; -2: it fails. */
static int written(const char *name, unsigned minor, int keep, void **table)
{
    int n = 0;
    get_table get = (get_table)dlsym(driver, name);
    for (int i = 0; i < WORDS; i++)
        table[i] = mark;
    if (!get || get(ZE_MAKE_VERSION(1, minor), table))
        return -2;
    for (int i = 0; i < WORDS; i++) {
        n += table[i] != mark;
        if (i >= keep && table[i] != mark)
            return -1;
    }
    return n;
}

/* Catches: a write beyond the table of an older loader. */
static void versions(void)
{
    void *t[WORDS];
    CHECK(written("zeGetGlobalProcAddrTable", 4, 1, t) == 1);
    CHECK(written("zeGetGlobalProcAddrTable", 9, 1, t) == 1);
    CHECK(written("zeGetGlobalProcAddrTable", 10, 2, t) == 2);
    CHECK(written("zeGetCommandListProcAddrTable", 0, 26, t) > 15);
    CHECK(written("zeGetCommandListProcAddrTable", 5, 28, t) > 15 && t[28] == mark);
    CHECK(written("zeGetCommandListProcAddrTable", 6, 29, t) > 15 && t[28] != mark);
    CHECK(written("zeGetMemProcAddrTable", 0, 9, t) == 9);
    CHECK(written("zeGetMemProcAddrTable", 3, 10, t) == 10);
    CHECK(written("zeGetMemProcAddrTable", 13, 11, t) == 11);
    CHECK(written("zeGetDeviceProcAddrTable", 1, 15, t) == 14);
    CHECK(written("zeGetImageProcAddrTable", 4, 0, t) == 0);
    get_table get = (get_table)dlsym(driver, "zeGetMemProcAddrTable");
    CHECK(get && get(ZE_MAKE_VERSION(2, 0), t) == ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
    CHECK(get && get(ZE_MAKE_VERSION(1, 4), NULL) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

/* zeInitDrivers of specification 1.10: the driver reports itself for GPUs only. */
static void init_drivers(void)
{
    struct {
        uint32_t stype;
        const void *next;
        uint32_t flags;
    } gpu = {0x00020021, NULL, 1}, npu = {0x00020021, NULL, 2};
    void *t[WORDS];
    CHECK(written("zeGetGlobalProcAddrTable", 13, 2, t) == 2);
    ze_result_t (*init)(uint32_t *, ze_driver_handle_t *, const void *);
    memcpy(&init, &t[1], sizeof init);
    uint32_t n = 0;
    ze_driver_handle_t d = NULL;
    CHECK(!init(&n, NULL, &gpu) && n == 1);
    CHECK(!init(&n, &d, &gpu) && n == 1 && d);
    CHECK(init(&n, &d, &npu) == ZE_RESULT_ERROR_UNINITIALIZED && n == 0);
}

int main(void)
{
    zt_up();
    driver = dlopen(getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        fprintf(stderr, "# %s\n", dlerror());
        return 1;
    }
    RUN(versions, "only entries of the requested version are written");
    RUN(init_drivers, "zeInitDrivers");
    return tap_end();
}
