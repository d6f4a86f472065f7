/* gpc_shape.h - check and set the list of ids and the tree of a chained GPC before it starts. */
#ifndef SHI_GPC_SHAPE_H
#define SHI_GPC_SHAPE_H

#include "host/gpc/gpc.h"

/* Set ids, below and idlen from w->tree and idlst, which has w->idlen ids; in scratch[3 * idlen]. 0 or -errno after one line. */
int shi_gpc_shape(const char *routine, struct shi_gpc_params *w, const int *idlst, int *scratch);

#endif
