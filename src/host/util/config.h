/* config.h - settings from the environment, read once at start; config.def lists them. */
#ifndef SHI_CONFIG_H
#define SHI_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SHI_CONFIG_AUTO = -1 };

typedef int shi_config_flag;
typedef int shi_config_bool;
typedef size_t shi_config_size;
typedef long shi_config_count; /* SHI_CONFIG_AUTO where the default is "auto" */
typedef struct {
    char text[200]; /* "": nothing */
} shi_config_text;
typedef enum shi_transport { SHI_TRANSPORT_AUTO, SHI_TRANSPORT_OFI } shi_config_transport;
typedef enum shi_wait_mode { SHI_WAIT_MODE_AUTO, SHI_WAIT_MODE_ACTIVE, SHI_WAIT_MODE_PASSIVE,
                             SHI_WAIT_MODE_DOORBELL } shi_config_wait;
typedef enum shi_faults { SHI_FAULTS_END, SHI_FAULTS_CONTINUE } shi_config_faults;
typedef struct {
    char backend[12]; /* "": any */
    int index;       /* SHI_CONFIG_AUTO: by the PE's local rank */
} shi_config_device;

struct shi_config {
#define X(field, kind, name, old, def, help) shi_config_##kind field;
#include "host/util/config.def"
#undef X
};

/* Read the environment into *out. 0, or -EINVAL, and then why[bytes] has one line that names the variable, its value and
 * the values that are accepted. */
int shi_config_read(struct shi_config *out, char *why, size_t bytes);

/* The settings that must be equal on all PEs, because they decide which messages and collective calls the library makes. */
enum { SHI_CONFIG_EQUAL = 8 };
struct shi_config_equal {
    uint64_t value[SHI_CONFIG_EQUAL]; /* heap and device heap: bytes; text: what it requests, as a number */
};

void shi_config_equal(const struct shi_config *c, struct shi_config_equal *out);

/* The variable of the first value that differs, or NULL. */
const char *shi_config_differs(const struct shi_config_equal *a, const struct shi_config_equal *b);

/* Call report for each environment variable that begins with SHMEM_ and is not in config.def, with the most similar
 * name of config.def. A name that is similar to none may belong to another library: it is reported, with NULL, only when
 * `all` is set. Names that other libraries give the heap's size are reported unless SHMEM_SYMMETRIC_SIZE is set. */
void shi_config_unknown(int all, void (*report)(const char *name, const char *nearest));

/* Parse a size such as 64, 512k, 1.5G. 0 and *bytes, or -EINVAL. Characters after the suffix are ignored (specification, section
 * 8), so 2GB is 2G, and 20kk is 20k. */
int shi_config_parse_size(const char *text, size_t *bytes);

/* Print every variable with value, default and help, one a line. */
void shi_config_print(const struct shi_config *c, FILE *f);

/* 1: a variable that only tests set, which is not shown. */
static inline int shi_config_is_of_tests(const char *name)
{
    return strncmp(name, "SHMEM_TEST_", 11) == 0;
}

#endif
