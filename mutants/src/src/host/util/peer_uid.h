/* peer_uid.h - the user at the other end of a connection. */
#ifndef SHI_PEER_UID_H
#define SHI_PEER_UID_H

#include <sys/types.h>

/*
 * Set *out to the user that owns the other end of a connected TCP or unix-domain socket. 0, or
 *   -ENOENT   no socket of this network namespace is the other end: it is on another host, in another network namespace, or
 *             closed already
 *   -ENOSYS   the system does not report it: no socket diagnostics and no /proc, or the socket is of another kind
 *   -ENOTCONN or another -errno of getpeername, or -EMFILE, -ENFILE or -ENOMEM
 *
 * For TCP this is the user that created the socket, as a number of this process's user namespace (65534: a user without a
 * number there). It cannot tell whether that process has passed the socket to another one. A call takes about 10 us, or 1 us
 * for each TCP socket of the host where the kernel has no socket diagnostics. Any thread may call it; errno is kept.
 */
int shi_peer_uid(int fd, uid_t *out);

/* For accept(2): is the other end this process's user, or one that the system does not report? 1; 0 and *other: another user; or
 * -errno of shi_peer_uid. */
int shi_peer_is_own(int fd, uid_t *other);

/* For accept(2): close a connection with a reset, which frees the ports of both ends. Sets errno to EAGAIN: none has come. */
void shi_peer_refuse(int fd);

#endif
