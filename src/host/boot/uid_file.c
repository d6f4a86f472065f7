/* uid_file.c - see uid_file.h. */
#include "host/boot/uid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    *out = (struct shi_uid_file){.path = text};
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

/* A file of its own beside it, with mode 0600, becomes the file: nobody reads half an id. */
int shi_uid_file_write(const struct shi_uid_file *f, const struct shi_uid *id)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s.XXXXXX", f->path) >= (int)sizeof path)
        return failed(f, -ENAMETOOLONG);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return failed(f, -errno);
    int err = write(fd, id->bytes, sizeof id->bytes) == sizeof id->bytes ? 0 : -EIO;
    if (close(fd) && !err)
        err = -errno;
    if (!err && rename(path, f->path))
        err = -errno;
    if (err)
        unlink(path);
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

void shi_uid_file_remove(const struct shi_uid_file *f)
{
    unlink(f->path);
}
