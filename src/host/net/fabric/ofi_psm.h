/* ofi_psm.h - what psm2 and psm3 need before their endpoints are opened. */
#ifndef SHI_OFI_PSM_H
#define SHI_OFI_PSM_H

#include <rdma/fabric.h>

/* Set psm3's environment variables that the user has not set. The first fi_getinfo of the process reads them. heartbeat_s:
 * how long a PE may be silent; 0: without a limit. */
void shi_ofi_psm_settings(int heartbeat_s);

/* Let endpoints of this psm2 or psm3 connect to those of the same job only. 0 or -ENOMEM. */
int shi_ofi_psm_key(struct fi_info *info, const char *job);

#endif
