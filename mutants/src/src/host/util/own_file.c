/* own_file.c - open a file of this user: never through a symbolic link, never one that another user has put there. */
#include "host/util/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* May this existing file be used? 0 or -errno. */
static int check(int fd, int write)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (S_ISCHR(st.st_mode))
        return 0;
    if (st.st_uid != geteuid())
        return -EPERM;
    if (!write || !S_ISREG(st.st_mode))
        return 0;
    if (st.st_nlink > 1)
        return -EMLINK;
    return fchmod(fd, 0600) ? -errno : 0;
}

/* O_TRUNC comes after the check. O_NONBLOCK: a FIFO without a reader must not stop the job. */
static int open_existing(const char *path, int flags)
{
    int write = (flags & O_ACCMODE) != O_RDONLY;
    int fd = open(path, (flags & ~O_TRUNC) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int err = check(fd, write);
    if (!err && flags & O_TRUNC && ftruncate(fd, 0) && errno != EINVAL) /* a FIFO or device */
        err = -errno;
    if (!err && fcntl(fd, F_SETFL, flags & O_APPEND))
        err = -errno;
    if (!err)
        return fd;
    close(fd);
    return err;
}

int shi_own_file_open(const char *path, int flags)
{
    int fd = -1;
    if ((flags & O_ACCMODE) != O_RDONLY)
        fd = open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    else
        errno = EEXIST;
    return fd >= 0 ? fd : errno == EEXIST ? open_existing(path, flags) : -errno;
}

const char *shi_own_file_error(int err)
{
    switch (err) {
    case -ELOOP: return "a symbolic link, which is not followed";
    case -EPERM: return "the file belongs to another user";
    case -EMLINK: return "the file has several hard links";
    default: return strerror(-err);
    }
}
