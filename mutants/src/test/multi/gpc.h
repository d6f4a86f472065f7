/* gpc.h - code that the tests of global procedure calls share: random numbers, and data that each PE can check. */
#ifndef GPC_H
#define GPC_H

#include <errno.h>
#include <shmemx.h>
#include <unistd.h>

#include "../tap_pes.h"

enum { MOST = 64, DATA = 300000 };
static unsigned state;

static int rounds(int few)
{
    return n_pes > 16 ? few / 10 + 1 : few;
}

static unsigned hash(unsigned h, unsigned x)
{
    return (h ^ x) * 16777619u + 0x9e3779b9u;
}

static char pattern(unsigned seed, size_t i)
{
    return (char)(hash(seed, (unsigned)i) >> 13);
}

static int differs(unsigned seed, const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += i < 64 || i + 64 > bytes ? 1 : 61)
        if (p[i] != pattern(seed, i))
            return 1;
    return 0;
}

static int my_id(const shmemx_gpc_call_t *c)
{
    return shmem_team_my_pe(c->team);
}

static int below(int n)
{
    return (int)(tap_random(&state) % (unsigned)n);
}

#endif
