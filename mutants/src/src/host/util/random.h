/* random.h - random bits that others cannot predict: keys, secrets, names. */
#ifndef SHI_RANDOM_H
#define SHI_RANDOM_H

#include <stddef.h>

/* Fill [to, + bytes) from the kernel's generator. 0 or -errno. */
int shi_random_bytes(void *to, size_t bytes);

#endif
