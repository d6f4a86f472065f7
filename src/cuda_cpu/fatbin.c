/*
 * fatbin.c - finds and unpacks the PTX in a kernel image.
 *
 * A fatbin is a header and entries, each with a header of its own: machine code for one GPU (kind 2), or PTX (kind 1). The
 * layout is not documented; it was read off files of nvcc 11 to 13. The payload may be packed: as an LZ4 block, or as a
 * Zstandard frame, for which libzstd.so.1 is opened.
 */
#include "cuda_cpu/fatbin.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of all entries */
};

struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* of the payload, padded */
    uint32_t packed_bytes, unknown;
    uint16_t minor, major;
    uint32_t arch, name_at, name_bytes;
    uint64_t flags, zero, unpacked_bytes;
};
_Static_assert(sizeof(struct header) == 16 && sizeof(struct entry) == 64, "as in the file");

enum { MAGIC = (int)0xba55ed50, KIND_PTX = 1, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, PTX_MAX = 1 << 28 };

/* ---- unpacking -------------------------------------------------------------------------------------------------- */

/* A length of LZ4: its first part is 15 if bytes follow, the last of which is below 255. */
static size_t lz4_length(size_t first, const uint8_t **s, const uint8_t *end)
{
    size_t n = first;
    while (first == 15 && *s < end) {
        n += **s;
        if (*(*s)++ != 255)
            break;
    }
    return n;
}

/* Unpack an LZ4 block. Returns whether it has exactly n bytes. */
static int unpack_lz4(uint8_t *out, size_t n, const uint8_t *s, size_t packed)
{
    const uint8_t *end = s + packed;
    uint8_t *d = out, *last = out + n;
    while (s < end) {
        uint8_t token = *s++;
        size_t literals = lz4_length(token >> 4, &s, end);
        if (literals > (size_t)(end - s) || literals > (size_t)(last - d))
            return 0;
        memcpy(d, s, literals);
        d += literals;
        s += literals;
        if (end - s < 2)
            break;
        size_t back = s[0] | (size_t)s[1] << 8;
        s += 2;
        size_t match = lz4_length(token & 15, &s, end) + 4;
        if (!back || back > (size_t)(d - out) || match > (size_t)(last - d))
            return 0;
        for (; match--; d++)
            *d = d[-(ptrdiff_t)back];
    }
    return d == last;
}

static int unpack_zstd(uint8_t *out, size_t n, const uint8_t *s, size_t packed, const char **why)
{
    void *so = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    void *at = so ? dlsym(so, "ZSTD_decompress") : NULL;
    size_t (*decompress)(void *, size_t, const void *, size_t) = (size_t (*)(void *, size_t, const void *, size_t))at;
    if (!decompress)
        *why = "its PTX is compressed with Zstandard: install libzstd1, or compile with nvcc --no-compress";
    int good = decompress && decompress(out, n, s, packed) == n;
    if (so)
        dlclose(so);
    return good;
}

static char *unpack(const uint8_t *payload, const struct entry *e, size_t *bytes, const char **why)
{
    size_t packed = e->packed_bytes ? e->packed_bytes : e->bytes;
    size_t n = e->flags & (FLAG_LZ4 | FLAG_ZSTD) ? e->unpacked_bytes : e->bytes;
    char *text = n && n <= PTX_MAX && packed <= e->bytes ? calloc(1, n + 1) : NULL;
    *why = "its PTX is damaged";
    if (!text)
        return NULL;
    int good = e->flags & FLAG_LZ4    ? unpack_lz4((uint8_t *)text, n, payload, packed)
               : e->flags & FLAG_ZSTD ? unpack_zstd((uint8_t *)text, n, payload, packed, why)
                                      : (memcpy(text, payload, n), 1);
    if (!good) {
        free(text);
        return NULL;
    }
    *bytes = strnlen(text, n);
    return text;
}

/* ---- images ----------------------------------------------------------------------------------------------------- */

/* Is an entry for `arch` better than one for `best`? A GPU takes the latest architecture up to its own; where all are later, the earliest one may run. */
static int better(uint32_t arch, uint32_t best)
{
    enum { ARCH = 90 };
    return best <= ARCH ? arch <= ARCH && arch > best : arch < best;
}

/* The entry with the PTX that the device takes. */
static char *of_fatbin(const uint8_t *image, size_t *bytes, const char **why)
{
    struct header h;
    struct entry best = {0};
    const uint8_t *payload = NULL;
    memcpy(&h, image, sizeof h);
    const uint8_t *at = image + h.header_bytes, *end = at + h.bytes;
    while (at < end && (size_t)(end - at) >= sizeof best) {
        struct entry e;
        memcpy(&e, at, sizeof e);
        if (e.header_bytes < sizeof e || e.header_bytes > (size_t)(end - at) || e.bytes > (size_t)(end - at) - e.header_bytes)
            break;
        if (e.kind == KIND_PTX && (!payload || better(e.arch, best.arch))) {
            best = e;
            payload = at + e.header_bytes;
        }
        at += e.header_bytes + e.bytes;
    }
    *why = "it has machine code of GPUs only, no PTX: compile with nvcc -gencode arch=compute_90,code=compute_90";
    return payload ? unpack(payload, &best, bytes, why) : NULL;
}

char *cc_ptx_of(const void *image, size_t *bytes, const char **why)
{
    static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'};
    int32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (memcmp(image, elf, sizeof elf) == 0) {
        *why = "it is machine code of a GPU (a cubin), not PTX";
        return NULL;
    }
    if (magic == MAGIC)
        return of_fatbin(image, bytes, why);
    *bytes = strlen(image);
    *why = "out of memory";
    return strdup(image);
}
