/* peer_fd.h - duplicate a file descriptor of another process of this node. */
#ifndef SHI_PEER_FD_H
#define SHI_PEER_FD_H

/* A duplicate of descriptor fd of process pid, close-on-exec; or -errno after one logged line. */
int shi_peer_fd_open(int pid, int fd);

/* The same without a line. */
int shi_peer_fd_try(int pid, int fd);

/* The same, of the same open file: a driver's descriptor, of which another open of its device is none. */
int shi_peer_fd_same(int pid, int fd);

#endif
