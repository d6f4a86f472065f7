/* topology.h - print processors and memory of the node that oshinfo runs on. */
#ifndef OSHINFO_TOPOLOGY_H
#define OSHINFO_TOPOLOGY_H

/* Print text, or the members of a JSON object without its braces. */
void topology_print(int json);

#endif
