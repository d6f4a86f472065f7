/* ofi_fd.h - keep libfabric's file descriptors, which it does not mark, from programs that the user's program executes. */
#ifndef SHI_OFI_FD_H
#define SHI_OFI_FD_H

#include <sys/socket.h>

enum { SHI_OFI_FDS = 4096 };

struct shi_ofi_fds {
    unsigned char open[SHI_OFI_FDS / 8];
};

/* Record which descriptors are open now. */
void shi_ofi_fds_note(struct shi_ofi_fds *out);

/* The local address of this PE's endpoint, and so of its connections. */
void shi_ofi_fds_own(const struct sockaddr *address);

/* Mark what was opened since `before`; with NULL, every connection of the endpoint. */
void shi_ofi_fds_close_on_exec(const struct shi_ofi_fds *before);

#endif
