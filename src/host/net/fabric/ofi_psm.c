/* ofi_psm.c - settings and keys of psm2 and psm3: see ofi_psm.h. */
#include "host/net/fabric/ofi_psm.h"

#include <errno.h>
#include <rdma/fi_endpoint.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_LIMIT_S = 1000000, UUID_BYTES = 16 };

void shi_ofi_psm_settings(int heartbeat_s)
{
    char limit[16];
    snprintf(limit, sizeof limit, "%d", heartbeat_s > 0 ? heartbeat_s : NO_LIMIT_S);
    setenv("PSM3_TCP_SKIPPOLL_COUNT", "1:1", 0); /* else psm3 on Ethernet reads its sockets at every 21st poll only */
    setenv("FI_PSM3_CONN_TIMEOUT", limit, 0);    /* else psm3 aborts where a PE does not answer its first message for 10 s */
    if (!getenv("PSM3_DEVICES")) { /* else each endpoint has 4 MB in /dev/shm, which stay there when its process is killed */
        setenv("PSM3_DEVICES", "self,nic", 1);
        setenv("PSM3_NIC_LOOPBACK", "1", 0); /* PEs of one host reach each other through the NIC */
    }
}

/* FNV-1a. */
static uint64_t hash(const char *text, uint64_t sum)
{
    for (; *text; text++)
        sum = (sum ^ (unsigned char)*text) * 1099511628211u;
    return sum;
}

/* The default is a key of the user, with which an endpoint of another job may be taken for a peer that had its address. */
int shi_ofi_psm_key(struct fi_info *info, const char *job)
{
    uint64_t key[UUID_BYTES / 8] = {hash(job, 14695981039346656037u), hash(job, 0x9e3779b97f4a7c15)};
    uint8_t *copy = malloc(sizeof key); /* freeinfo frees it */
    if (!copy)
        return -ENOMEM;
    free(info->ep_attr->auth_key);
    info->ep_attr->auth_key = memcpy(copy, key, sizeof key);
    info->ep_attr->auth_key_size = sizeof key;
    return 0;
}
