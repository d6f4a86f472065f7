/* ofi_fd.h - libfabric's file descriptors must not reach programs that the user's program starts; it leaves them open. */
#ifndef SHI_OFI_FD_H
#define SHI_OFI_FD_H

#include <stddef.h>

enum { SHI_OFI_FDS = 4096 };

struct shi_ofi_fds {
    unsigned char open[SHI_OFI_FDS / 8];
};

/* Which descriptors are open now. */
void shi_ofi_fds_note(struct shi_ofi_fds *out);

/* The address that connections of this PE's endpoint have on our side. */
void shi_ofi_fds_own(const void *address, size_t bytes);

/* Close on exec whatever was opened since `before`; with NULL, every connection of the endpoint's. */
void shi_ofi_fds_close_on_exec(const struct shi_ofi_fds *before);

#endif
