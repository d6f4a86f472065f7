/* topology.h - the node that oshinfo runs on: processors and memory. */
#ifndef OSHINFO_TOPOLOGY_H
#define OSHINFO_TOPOLOGY_H

/* Print it for people, or as the members of a JSON object, without its braces. */
void topology_print(int json);

#endif
