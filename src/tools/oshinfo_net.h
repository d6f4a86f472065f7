/* oshinfo_net.h - the network providers of this machine, and which one a job on several hosts would take. */
#ifndef OSHINFO_NET_H
#define OSHINFO_NET_H

/* One line a provider and interface, the one that is taken first, each with the reason; or one line that says what is
 * missing. `lead` is for the first line, spaces of its length for the others. */
void oshinfo_net_people(const char *lead);

/* The same as a JSON array of objects. */
void oshinfo_net_json(void);

#endif
