/* mpp/shmemx.h - deprecated place of shmemx.h. */
#include <shmemx.h>
