/* own_file.h - files that the library writes and reads in folders that other users may write, too. */
#ifndef SHI_OWN_FILE_H
#define SHI_OWN_FILE_H

/*
 * Open path: flags are O_RDONLY, or O_WRONLY or O_RDWR, which create the file, with O_TRUNC or O_APPEND. The descriptor, which
 * is close-on-exec, or -errno:
 *   -ELOOP   path is a symbolic link
 *   -EPERM   the file is not this user's; devices may be
 *   -EMLINK  to be written, the file has more than one hard link
 * A regular file opened for writing has mode 0600 then.
 */
int shi_own_file_open(const char *path, int flags);

/* The text of a negative errno, with the meanings above. */
const char *shi_own_file_error(int err);

#endif
