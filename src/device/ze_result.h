/* ze_result.h - names of Level Zero's result codes, for people. */
#ifndef SHI_DEVICE_ZE_RESULT_H
#define SHI_DEVICE_ZE_RESULT_H

#include <level_zero/ze_api.h>

/* As the specification spells it, without ZE_RESULT_; codes it does not have: "unknown result". */
const char *shi_ze_result_name(ze_result_t r);

#endif
