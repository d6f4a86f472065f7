/* provider.c - see provider.h. */
#include "host/policy/provider.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_UNIT = 64 };

/* Best first: special networks before TCP. Those that are not here are chosen only where SHMEM_OFI_PROVIDER names them. */
static const struct shi_provider rows[] = {
    {.name = "cxi"},
    {.name = "efa", .immediate = 1},
    {.name = "psm3", .immediate = 1, .job_key = 1, .polls_again = 1, .late_close = 1},
    {.name = "psm2", .job_key = 1, .polls_again = 1, .late_close = 1},
    {.name = "opx", .immediate = 1},
    {.name = "verbs;ofi_rxm"},
    {.name = "verbs"},
    {.name = "net", .immediate = 1, .copies = 1, .loses_first = 1, .message = SIZE_MAX},
    {.name = "tcp", .immediate = 1, .copies = 1, .loses_first = 1, .message = SIZE_MAX},
    {.name = "tcp;ofi_rxm", .variable = "FI_OFI_RXM_BUFFER_SIZE", .message = 16384},
    {.name = "psm3", .ethernet = 1, .immediate = 1, .job_key = 1, .polls_again = 1, .late_close = 1, .variable = "PSM3_MQ_RNDV_NIC_THRESH",
     .message = 64000},
    {.name = "shm", .node_only = 1, .copies = 1},
    {.name = "sockets", .copies = 1},
    {.name = "sockets;ofi_rxd"},
    {.name = "udp;ofi_rxd", .copies = 1},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const struct shi_provider *shi_provider_of(const char *name, int has_rdma)
{
    const struct shi_provider *found = NULL;
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0 && (!rows[i].ethernet || !has_rdma))
            found = &rows[i]; /* the row for Ethernet is behind the other */
    return found;
}

int shi_provider_rank(const struct shi_provider *p, int goes_on)
{
    return p ? (int)(p - rows) + (goes_on && p->loses_first ? N_ROWS : 0) : 2 * N_ROWS;
}

size_t shi_provider_message(const struct shi_provider *p, const char *text, size_t largest, size_t usual, size_t most)
{
    size_t bytes = p && p->variable && text ? strtoul(text, NULL, 0) : p ? p->message : 0;
    bytes = bytes < largest ? bytes : largest;
    bytes = bytes < most ? bytes / MESSAGE_UNIT * MESSAGE_UNIT : most;
    return bytes > usual ? bytes : usual;
}
