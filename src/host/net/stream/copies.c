/* copies.c - copies of the device, gathered: see copies.h. */
#include "host/net/stream/copies.h"

#include "host/util/copying.h"

struct shi_copies_counts shi_copies_counts[SHI_COPIES_AGENTS];
const char *const shi_copies_agent_name[] = {"requests", "records"};

static size_t longest(const struct shi_copies *c)
{
    size_t bytes = 0;
    for (int i = 0; i < c->n; i++)
        bytes = c->gathered[i].bytes > bytes ? c->gathered[i].bytes : bytes;
    return bytes;
}

int shi_copies_submit(struct shi_copies *c)
{
    if (!c->n || c->err)
        return c->err;
    struct shi_copying *driver = shi_copying_begin(c->routine, longest(c)); /* the driver on the CPU makes the copies in that call */
    c->err = c->start(c->gathered, c->n);
    shi_copying_end(driver);
    shi_copies_count(&shi_copies_counts[c->agent].copies, (uint64_t)c->n);
    shi_copies_count(&shi_copies_counts[c->agent].submissions, 1);
    c->started += (uint64_t)c->n;
    c->n = 0;
    return c->err;
}

uint64_t shi_copies_add(struct shi_copies *c, void *to, const void *from, size_t bytes, int beside)
{
    if (c->n == SHI_COPIES_MOST)
        shi_copies_submit(c);
    if (!c->err)
        c->gathered[c->n++] = (struct shi_device_copy){to, from, bytes, beside && c->n};
    return c->started + (uint64_t)c->n;
}

int shi_copies_look(struct shi_copies *c)
{
    uint64_t before = c->ended;
    if (before == c->started)
        return 0;
    int err = c->look(&c->ended);
    return err ? err : c->ended != before;
}
