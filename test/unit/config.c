/*
 * config.c - settings from the environment: the meaning of each form, and the forms that are refused.
 */
#include "host/util/config.h"

#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>

#include "../tap.h"

/* Catches: a suffix wrong by a factor of 2^10, a truncated fraction, a value rounded down: the specification requires
 * at least the requested size; characters after the suffix refused, which the specification says are ignored. */
static void sizes(void)
{
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {{"0", 0}, {"1", 1}, {"64", 64}, {"64k", 65536}, {"64K", 65536}, {"1.5G", 1610612736}, {".5m", 524288},
                {"0.5M", 524288}, {"2t", (size_t)2 << 40}, {"1.1", 2}, {"0.001k", 2}, {"3.", 3}, {"007", 7},
                {"1e3", 1000}, {"1e3k", 1024000}, {"4194303T", (size_t)4194303 << 40},
                {"20kk", 20480}, {"2GB", (size_t)2 << 30}, {"512MB", (size_t)512 << 20}, {"1.5GiB", 1610612736}, {"1k 2", 1024}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        size_t bytes = 99;
        CHECKF(shi_config_parse_size(good[i].text, &bytes) == 0 && bytes == good[i].bytes, "\"%s\" gave %zu",
               good[i].text, bytes);
    }
}

/* Catches: a number followed by something that is no suffix accepted; a sign, blank or base accepted because strtod accepts it. */
static void not_sizes(void)
{
    static const char *const bad[] = {"", " ", "junk", "-1", "+1", "-0", " 1", "1 ", "1 k", "k", ".", ".k",
                                      "1q", "0x10", "0X10", "nan", "inf", "1.5.5", "1,5", "1e", "1e999", "5000000T",
                                      "1e30k", "--1", "1\n", "1b", "1 GB", "GB", "2BG"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t bytes = 99;
        CHECKF(shi_config_parse_size(bad[i], &bytes) == -EINVAL && bytes == 99, "\"%s\" gave %zu", bad[i], bytes);
    }
}

static char why[512];

/* Read the configuration with one variable set. */
static int read_with(const char *name, const char *value, struct shi_config *c)
{
    setenv(name, value, 1);
    int err = shi_config_read(c, why, sizeof why);
    unsetenv(name);
    return err;
}

/* Catches: a default that differs from the documentation, an empty value taken for a setting, the deprecated name
 * ignored or stronger than the new one. */
static void names(void)
{
    struct shi_config c;
    CHECK(shi_config_read(&c, why, sizeof why) == 0);
    CHECK(c.heap_bytes == (size_t)1 << 30 && !c.check && !c.version && !c.debug && c.spin == SHI_CONFIG_AUTO);
    CHECK(read_with("SHMEM_SYMMETRIC_SIZE", "", &c) == 0 && c.heap_bytes == (size_t)1 << 30);
    CHECK(read_with("SMA_SYMMETRIC_SIZE", "3m", &c) == 0 && c.heap_bytes == 3 << 20);
    setenv("SMA_SYMMETRIC_SIZE", "3m", 1);
    CHECK(read_with("SHMEM_SYMMETRIC_SIZE", "2m", &c) == 0 && c.heap_bytes == 2 << 20);
    unsetenv("SMA_SYMMETRIC_SIZE");
}

/* Catches: "off" that enables, a misread word, a count with trailing characters. */
static void other_kinds(void)
{
    struct shi_config c;
    static const char *const off[] = {"0", "n", "no", "OFF", "False"}, *const on[] = {"1", "y", "YES", "on", "True"};
    for (int i = 0; i < 5; i++) {
        CHECKF(read_with("SHMEM_CHECK", off[i], &c) == 0 && c.check == 0, "SHMEM_CHECK=%s", off[i]);
        CHECKF(read_with("SHMEM_CHECK", on[i], &c) == 0 && c.check == 1, "SHMEM_CHECK=%s", on[i]);
        CHECKF(read_with("SHMEM_VERSION", off[i], &c) == 0 && c.version == 0, "SHMEM_VERSION=%s", off[i]);
    }
    CHECK(read_with("SHMEM_VERSION", "anything", &c) == 0 && c.version == 1);
    CHECK(read_with("SHMEM_TEST_SPIN", "12", &c) == 0 && c.spin == 12);
    CHECK(read_with("SHMEM_TEST_SPIN", "auto", &c) == 0 && c.spin == SHI_CONFIG_AUTO);
}

/* Catches: a truncated or misread kind, a number taken for a kind, a device number where none was given. */
static void devices(void)
{
    static const struct {
        const char *text, *backend;
        int index;
    } good[] = {{"auto", "", SHI_CONFIG_AUTO}, {"ze", "ze", SHI_CONFIG_AUTO}, {"CUDA", "cuda", SHI_CONFIG_AUTO},
                {"cpu:0", "cpu", 0}, {"ze:12", "ze", 12}, {"3", "", 3}};
    struct shi_config c;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECKF(read_with("SHMEM_DEVICE", good[i].text, &c) == 0 && strcmp(c.device.backend, good[i].backend) == 0 &&
                   c.device.index == good[i].index, "SHMEM_DEVICE=%s gave \"%s\" %d", good[i].text, c.device.backend,
               c.device.index);
    CHECK(shi_config_read(&c, why, sizeof why) == 0 && !c.device.backend[0] && c.device.index == SHI_CONFIG_AUTO);
}

/* Catches: an invalid value that is silently ignored, or that leaves the configuration half set. */
static void refused(void)
{
    static const char *const bad[][2] = {{"SHMEM_SYMMETRIC_SIZE", "junk"}, {"SHMEM_CHECK", "2"}, {"SHMEM_TEST_SPIN", "-1"},
                                         {"SHMEM_TEST_SPIN", "1x"}, {"SHMEM_WAIT", "activ"}, {"SHMEM_TEST_SPIN", " 1"}, {"SHMEM_TEST_SPIN", "+1"},
                                         {"SHMEM_TEST_SPIN", "99999999999999999999"}, {"SHMEM_TEST_SPIN", "4294967296"},
                                         {"SHMEM_PREFAULT", "maybe"}, {"SMA_SYMMETRIC_SIZE", "-5"},
                                         {"SHMEM_DEVICE", "gpu"}, {"SHMEM_DEVICE", "ze:"}, {"SHMEM_DEVICE", "ze:x"},
                                         {"SHMEM_DEVICE", "ze:auto"}, {"SHMEM_DEVICE", ":1"}, {"SHMEM_DEVICE", "-1"},
                                         {"SHMEM_DEVICE", "ze:-1"}, {"SHMEM_DEVICE", "1:ze"}, {"SHMEM_DEVICE", "z"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct shi_config c, before;
        memset(&c, 0x77, sizeof c);
        before = c;
        CHECKF(read_with(bad[i][0], bad[i][1], &c) == -EINVAL, "%s=%s taken", bad[i][0], bad[i][1]);
        CHECKF(memcmp(&c, &before, sizeof c) == 0, "%s=%s: outputs set", bad[i][0], bad[i][1]);
    }
}

static char reported[1024];

static void report(const char *name, const char *like)
{
    size_t n = strlen(reported);
    snprintf(reported + n, sizeof reported - n, "%s>%s ", name, like ? like : "");
}

/* Catches: a misspelt name that is silently ignored; a valid, deprecated or foreign name reported as misspelt. */
static void unknown_names(void)
{
    static const char *const known[] = {"SHMEM_CHECK", "SHMEM_TEST_SPIN", "SHMEM_OFI_PROVIDER", "SMA_VERSION", "SHMEMG_X"};
    static const char *const others[] = {"SHMEM_OFI_FABRIC", "SHMEM_TEAMS_MAX", "SHMEM_INC",
                                         "SHMEM_DIR", "SHMEM_BACKTRACE", "SHMEM_COLL_RADIX", "SHMEM_", "SHMEM_BOUNCE_SIZE"};
    static const char *const wrong[][2] = {
        {"SHMEM_CHEK", "SHMEM_CHECK"}, {"SHMEM_SYMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"}, {"SHMEM_STAT", "SHMEM_STATS"},
        {"SHMEM_DEVICES", "SHMEM_DEVICE"}, {"SHMEM_OFI_PROVIDERS", "SHMEM_OFI_PROVIDER"}, {"SHMEM_Check", NULL},
        {"XT_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"}, {"SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"},
        {"XT_SYMMETRIC_HEAP", NULL}, {"SHMEM_HEART_BEAT", "SHMEM_HEARTBEAT"}, {"SHMEM_TRANSPROT", "SHMEM_TRANSPORT"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        setenv(known[i], "1", 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        setenv(others[i], "1", 1);
    shi_config_unknown(0, report);
    CHECKF(!*reported, "named: %s", reported);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char want[80];
        *reported = 0;
        shi_config_unknown(1, report);
        snprintf(want, sizeof want, "%s> ", others[i]);
        CHECKF(strstr(reported, want), "%s is not among %s", others[i], reported);
        unsetenv(others[i]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char want[80] = "";
        *reported = 0;
        setenv(wrong[i][0], "1", 1);
        shi_config_unknown(0, report);
        unsetenv(wrong[i][0]);
        if (wrong[i][1])
            snprintf(want, sizeof want, "%s>%s ", wrong[i][0], wrong[i][1]);
        CHECKF(strcmp(reported, want) == 0, "%s gave \"%s\"", wrong[i][0], reported);
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        unsetenv(known[i]);
    setenv("XT_SYMMETRIC_HEAP_SIZE", "1G", 1);
    setenv("SHMEM_SYMMETRIC_SIZE", "1G", 1);
    *reported = 0;
    shi_config_unknown(0, report);
    CHECKF(!*reported, "named beside our own: %s", reported);
    unsetenv("XT_SYMMETRIC_HEAP_SIZE");
    unsetenv("SHMEM_SYMMETRIC_SIZE");
}

/* Catches: a locale with a decimal comma, in which strtod stops at the point. */
static void comma_locale(void)
{
    size_t bytes = 0;
    CHECK(shi_config_parse_size("1.5k", &bytes) == 0 && bytes == 1536);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE", "ru_RU.UTF-8"};
    size_t i = 0;
    RUN(sizes, "sizes with suffixes and fractions");
    RUN(not_sizes, "strings that are not sizes");
    RUN(names, "defaults, empty values, deprecated names");
    RUN(other_kinds, "flags, bools and counts");
    RUN(devices, "kinds and numbers of devices");
    RUN(refused, "bad values");
    RUN(unknown_names, "unknown names");
    while (i < sizeof commas / sizeof *commas && !setlocale(LC_NUMERIC, commas[i]))
        i++;
    if (i < sizeof commas / sizeof *commas)
        RUN(comma_locale, "a locale with a decimal comma");
    else
        tap_skip("comma_locale", "no locale with a decimal comma is installed");
    return tap_end();
}
