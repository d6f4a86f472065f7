/* linked.c - the image that cuLinkComplete makes: a head, and for each unit the lengths of its name and text, and both, ended by zero bytes. */
#include "cuda_cpu/linked.h"

#include <stdlib.h>
#include <string.h>

struct head {
    char magic[8];
    uint64_t units;
};
struct part {
    uint64_t name_bytes, text_bytes; /* without the zero byte */
};
static const char magic[8] = "FULMARL";

bool cc_is_linked(const void *image)
{
    return strncmp(image, magic, sizeof magic) == 0;
}

void *cc_linked_image(const struct cc_unit *units, uint32_t n, size_t *bytes)
{
    *bytes = sizeof(struct head);
    for (uint32_t k = 0; k < n; k++)
        *bytes += sizeof(struct part) + strlen(units[k].name) + 1 + units[k].bytes + 1;
    char *image = calloc(1, *bytes), *at = image;
    if (!image)
        return NULL;
    struct head h = {.units = n};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    for (uint32_t k = 0; k < n; k++) {
        struct part p = {strlen(units[k].name), units[k].bytes};
        memcpy(at, &p, sizeof p);
        memcpy(at + sizeof p, units[k].name, p.name_bytes);
        memcpy(at + sizeof p + p.name_bytes + 1, units[k].text, p.text_bytes);
        at += sizeof p + p.name_bytes + 1 + p.text_bytes + 1;
    }
    return image;
}

struct cc_unit *cc_linked_units(const void *image, uint32_t *n)
{
    const char *at = image;
    struct head h;
    memcpy(&h, at, sizeof h);
    at += sizeof h;
    *n = (uint32_t)h.units;
    struct cc_unit *units = calloc(h.units + 1, sizeof *units);
    for (uint32_t k = 0; units && k < *n; k++) {
        struct part p;
        memcpy(&p, at, sizeof p);
        units[k] = (struct cc_unit){at + sizeof p, at + sizeof p + p.name_bytes + 1, p.text_bytes};
        at += sizeof p + p.name_bytes + 1 + p.text_bytes + 1;
    }
    return units;
}
