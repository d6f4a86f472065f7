/* peer_fd.h - open what another process of this node has open. */
#ifndef SHI_PEER_FD_H
#define SHI_PEER_FD_H

/* A descriptor of our own for descriptor fd of process pid, close-on-exec; or -errno after one logged line. */
int shi_peer_fd_open(int pid, int fd);

#endif
