/* fds.h - keep the descriptors that other libraries open, and do not mark, from programs that the user's program executes. */
#ifndef SHI_FDS_H
#define SHI_FDS_H

#include <sys/socket.h>

/* A bit for each descriptor below n that is open. */
struct shi_fds {
    unsigned char *open;
    int n;
};

/* Record which descriptors are open now. Pair: shi_fds_close_on_exec. */
void shi_fds_note(struct shi_fds *out);

/* Mark close-on-exec what was opened since, and free the record. Without memory for the record nothing is marked. */
void shi_fds_close_on_exec(struct shi_fds *before);

/* Mark every connection from this address of this PE's endpoint. */
void shi_fds_close_connections_on_exec(const struct sockaddr *own);

#endif
