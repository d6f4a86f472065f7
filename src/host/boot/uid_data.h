/*
 * uid_data.h - what the PEs of a job that is started by a unique id have published, and the bytes that carry it in a fence. No I/O. Any thread
 * may call.
 *
 * The bytes are records: PE, length of the key and length of the data, 4 bytes each, then the key and the data.
 */
#ifndef SHI_UID_DATA_H
#define SHI_UID_DATA_H

#include "host/boot/uid_bytes.h"

/* This PE has published nothing, and of the n_pes PEs nothing is known. 0 or -ENOMEM. Pair: shi_uid_data_down. */
int shi_uid_data_up(int pe, int n_pes);
void shi_uid_data_down(void);

/* As in struct shi_boot_ops, until the next fence. 0, or -ENOMEM after one line. */
int shi_uid_data_publish(const char *key, const void *data, size_t bytes);

/* Append what this PE has published since the last call. 0 or -ENOMEM. */
int shi_uid_data_take_news(struct shi_uid_bytes *to);

/* Append all that is known. 0 or -ENOMEM. */
int shi_uid_data_take_all(struct shi_uid_bytes *to);

/* Take in records. A later one of a PE's key replaces the earlier. 0, -EPROTO, -ENOMEM. */
int shi_uid_data_learn(const void *from, size_t bytes);

/* As in struct shi_boot_ops; -ENOENT: not published. */
int shi_uid_data_lookup(int pe, const char *key, void *data, size_t bytes);

#endif
