/* mpp/shmem.h - deprecated place of shmem.h. */
#include <shmem.h>
