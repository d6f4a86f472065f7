/* cuda_memory.h - memory of the CUDA backend: the functions of struct shi_device_ops that concern it. */
#ifndef SHI_DEVICE_CUDA_MEMORY_H
#define SHI_DEVICE_CUDA_MEMORY_H

#include "device/device.h"

/* Make and destroy streams and buffers; the context is there. 0 or -errno. */
int shi_cuda_memory_up(void);
void shi_cuda_memory_down(void);

int shi_cuda_alloc(size_t bytes, void **addr);
int shi_cuda_adopt(void *addr, size_t bytes);
void shi_cuda_disown(void *addr);
void shi_cuda_release(void *addr);
int shi_cuda_alloc_shared(size_t bytes, void **addr);
int shi_cuda_share(void *addr, struct shi_device_share *out);
int shi_cuda_map(const struct shi_device_share *s, size_t bytes, void **addr, int *copies_only);
void shi_cuda_unmap(void *addr);
int shi_cuda_export_memory(void *addr, size_t bytes, struct shi_device_memory *out);
int shi_cuda_copy(void *to, const void *from, size_t bytes);
int shi_cuda_copies_start(enum shi_device_queue which, const struct shi_device_copy *c, int n);
int shi_cuda_copies_ended(enum shi_device_queue which, uint64_t *n);
int shi_cuda_clear(void *addr, size_t bytes);

#endif
