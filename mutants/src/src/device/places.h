/*
 * places.h - where memory lies, of the ranges that a backend has allocated or mapped. Any thread.
 *
 * CUDA copies within a device by a kernel of the driver, which never starts while kernels that wait for that copy occupy all
 * processors: such copies go through pinned memory, by the copy engines.
 */
#ifndef SHI_DEVICE_PLACES_H
#define SHI_DEVICE_PLACES_H

#include <stddef.h>

/* OWN: memory of this PE's device, a peer's on the same device, too. OTHER: of another device. */
enum shi_place { SHI_PLACE_UNKNOWN, SHI_PLACE_PINNED, SHI_PLACE_OWN, SHI_PLACE_OTHER };

/* Without memory for the entry the place stays unknown. */
void shi_places_learn(const void *at, size_t bytes, enum shi_place place);

/* Forget the range that begins at `at`, if there is one, or all. */
void shi_places_forget(const void *at);
void shi_places_down(void);

enum shi_place shi_places_find(const void *addr);

#endif
