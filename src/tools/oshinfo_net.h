/* oshinfo_net.h - list the network providers of this machine and the one that a job on several hosts would use. */
#ifndef OSHINFO_NET_H
#define OSHINFO_NET_H

/* Print a table of providers and interfaces with their attributes: the chosen one first, the others with the reason; or one
 * line about the missing parts. The first line starts with `lead`, the others with as many spaces. */
void oshinfo_net_people(const char *lead);

/* The same as a JSON array of objects. */
void oshinfo_net_json(void);

#endif
