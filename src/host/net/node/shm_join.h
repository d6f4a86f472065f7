/* shm_join.h - a process takes the place of a PE of the node that has died: the dead one's range of the node's file becomes its own. */
#ifndef SHI_SHM_JOIN_H
#define SHI_SHM_JOIN_H

#include "host/net/node/shm_map.h"

/* The node's file, from a PE that lives. The descriptor, or -errno after one line. */
int shi_shm_find_file(const struct shi_boot *boot);

/* Wait until the PEs that live take this process in. Its range of the file then reads as zeros, and its heap and static data are mapped from
 * there. 0 and *heap_lo; or -errno after one line, -ECANCELED if the job ends without this process. */
int shi_shm_take_place(struct shi_shm_control *c, const struct shi_boot *boot, const struct shi_shm_params *params, int fd, uintptr_t *heap_lo);

#endif
