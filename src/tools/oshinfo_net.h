/* oshinfo_net.h - list the network providers of this machine and the one that a job on several hosts would use. */
#ifndef OSHINFO_NET_H
#define OSHINFO_NET_H

/* Print a table of providers and interfaces with their attributes: the chosen one first, the others with the reason; or one
 * line about the missing parts. The first line starts with `lead`, the others with as many spaces. */
void oshinfo_net_people(const char *lead);

/* The same as a JSON array of objects. */
void oshinfo_net_json(void);

/* Of the provider that one of them has shown as chosen: its name, "" for none, and whether it may access memory of devices:
 * it has FI_HMEM, and SHMEM_TEST_OFI_HMEM is not 0. */
extern struct oshinfo_net_chosen {
    char provider[64];
    int hmem;
} oshinfo_net_chosen;

#endif
