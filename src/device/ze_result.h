/* ze_result.h - names of Level Zero's result codes. */
#ifndef SHI_DEVICE_ZE_RESULT_H
#define SHI_DEVICE_ZE_RESULT_H

#include <level_zero/ze_api.h>

/* The name in the specification without ZE_RESULT_, or "unknown result". */
const char *shi_ze_result_name(ze_result_t r);

#endif
