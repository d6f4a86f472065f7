/*
 * ofi_absent.h - on a host without their networks, libfabric is loaded without libpsm2 and libpsm_infinipath.
 *
 * Distributions link libfabric with both, and the constructor of each measures the clock for 0.1 s, in every PE. A library that
 * is loaded under the name of one takes its place: libfabric finds that the network is not there, as it would after 0.2 s.
 */
#ifndef SHI_OFI_ABSENT_H
#define SHI_OFI_ABSENT_H

struct shi_ofi_absent {
    void *library[2];
};

/* Load what takes the place of both, unless the process has one of them already, or libfabric. */
void shi_ofi_absent_open(struct shi_ofi_absent *out);

/* Libfabric has been loaded, or could not be: unload what it does not use. */
void shi_ofi_absent_close(struct shi_ofi_absent *a);

#endif
