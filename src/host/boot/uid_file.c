/* uid_file.c - see uid_file.h. */
#include "host/boot/uid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/boot/uid_id.h"
#include "host/util/log.h"
#include "host/util/own_file.h"

/* A number up to `most`. */
static int number(const char *text, int most, int *out)
{
    char *end;
    long n = text && *text ? strtol(text, &end, 10) : -1;
    if (n < 0 || n > most || *end)
        return -EINVAL;
    *out = (int)n;
    return 0;
}

static int from_starter(struct shi_uid_file *out)
{
    static const char *const known[][2] = {{"RANK", "WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!number(getenv(known[i][0]), INT_MAX, &out->pe) && !number(getenv(known[i][1]), INT_MAX, &out->n_pes))
            return 0;
    return -EINVAL;
}

int shi_uid_file_parse(const char *text, struct shi_uid_file *out)
{
    const char *at = strchr(text, '@');
    int n = 0, err = 0;
    *out = (struct shi_uid_file){.path = text, .lock = -1};
    if (at && sscanf(text, "%d/%d@%n", &out->pe, &out->n_pes, &n) == 2 && n == at + 1 - text)
        out->path = at + 1;
    else
        err = from_starter(out);
    if (err)
        shi_log_error("SHMEM_UNIQUEID=%s: which PE this process is, and of how many, is in none of RANK with WORLD_SIZE and SLURM_PROCID with "
                      "SLURM_NTASKS; write PE/NPES@FILE", text);
    else if (out->pe < 0 || out->pe >= out->n_pes || !*out->path) {
        shi_log_error("SHMEM_UNIQUEID=%s: PE %d of %d, file \"%s\": expected a PE from 0 to NPES - 1 and a file", text, out->pe, out->n_pes, out->path);
        err = -EINVAL;
    }
    return err;
}

static int failed(const struct shi_uid_file *f, int err)
{
    shi_log_error("SHMEM_UNIQUEID: file %s: %s", f->path, shi_own_file_error(err));
    return err;
}

/* A file system without locks cannot tell: there each job gets the file. */
static int lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int busy = fcntl(fd, F_OFD_SETLK, &whole) && (errno == EAGAIN || errno == EACCES);
    return busy ? -EBUSY : 0;
}

/* The descriptor of what path names, which is made if need be, with its lock; or -errno. */
static int lock_current(const char *path)
{
    for (;;) {
        struct stat opened, named;
        int fd = shi_own_file_open(path, O_RDWR), err = fd < 0 ? fd : lock(fd);
        if (!err && fstat(fd, &opened))
            err = -errno;
        if (!err && stat(path, &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino)
            return fd;
        if (fd >= 0)
            close(fd);
        if (err)
            return err;
    }
}

/* Write the id to a new file with mode 0600, lock it, and rename it to f->path: readers find a whole id, and no process has the file open from
 * a time at which its mode was another. */
static int replace(struct shi_uid_file *f, const struct shi_uid *id)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s.XXXXXX", f->path) >= (int)sizeof path)
        return -ENAMETOOLONG;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = lock(fd);
    if (!err && write(fd, id->bytes, sizeof id->bytes) != sizeof id->bytes)
        err = -EIO;
    if (!err && rename(path, f->path))
        err = -errno;
    if (!err) {
        f->lock = fd;
        return 0;
    }
    close(fd);
    unlink(path);
    return err;
}

int shi_uid_file_write(struct shi_uid_file *f, const struct shi_uid *id)
{
    int old = lock_current(f->path);
    if (old == -EBUSY)
        shi_log_error("SHMEM_UNIQUEID: file %s: another job starts with it now; each job needs a file of its own", f->path);
    if (old < 0)
        return old == -EBUSY ? old : failed(f, old);
    int err = replace(f, id);
    close(old);
    return err ? failed(f, err) : 0;
}

int shi_uid_file_read(const struct shi_uid_file *f, struct shi_uid *out)
{
    int fd = shi_own_file_open(f->path, O_RDONLY);
    if (fd == -ENOENT)
        return -EAGAIN;
    if (fd < 0)
        return failed(f, fd);
    ssize_t n = read(fd, out->bytes, sizeof out->bytes);
    close(fd);
    return n == sizeof out->bytes && shi_uid_check(out) == 0 ? 0 : -EAGAIN;
}

void shi_uid_file_remove(struct shi_uid_file *f)
{
    if (f->lock < 0)
        return;
    unlink(f->path);
    close(f->lock);
    f->lock = -1;
}
