/*
 * uid_file.h - SHMEM_UNIQUEID: programs that call shmem_init meet by a unique id in a file.
 *
 * The value is [PE/NPES@]FILE. Without PE and NPES they are torchrun's RANK and WORLD_SIZE, else srun's SLURM_PROCID and SLURM_NTASKS. PE 0 makes
 * the id and replaces the file, which only its user can read; the others read it until the id leads them to PE 0, as the file may be an
 * earlier job's; PE 0 removes it when all have come, or, if the job goes on when a PE dies, at the end. Until then PE 0 holds a lock on the file, by which PE 0 of
 * another job sees that it must not replace it.
 */
#ifndef SHI_UID_FILE_H
#define SHI_UID_FILE_H

#include "host/boot/boot.h"

struct shi_uid_file {
    int pe, n_pes;
    const char *path; /* of the environment */
    int lock;         /* the file, open and locked, of PE 0 from write to remove; else -1 */
};

/* 0, or -EINVAL after one line. */
int shi_uid_file_parse(const char *text, struct shi_uid_file *out);

/* 0, or -errno after one line. -EBUSY: another job starts with the file. */
int shi_uid_file_write(struct shi_uid_file *f, const struct shi_uid *id);

/* 0; -EAGAIN: there is none so far; or -errno after one line: it is another user's, or a link. */
int shi_uid_file_read(const struct shi_uid_file *f, struct shi_uid *out);

/* All have come, or the start has failed. Without effect if this process did not write the file. */
void shi_uid_file_remove(struct shi_uid_file *f);

#endif
