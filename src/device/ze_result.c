/* ze_result.c - the names of Level Zero's result codes, except those of experimental extensions. */
#include "device/ze_result.h"

#define RESULTS(X)                                                                                               \
    X(SUCCESS) X(NOT_READY) X(ERROR_DEVICE_LOST) X(ERROR_OUT_OF_HOST_MEMORY) X(ERROR_OUT_OF_DEVICE_MEMORY)       \
    X(ERROR_MODULE_BUILD_FAILURE) X(ERROR_MODULE_LINK_FAILURE) X(ERROR_DEVICE_REQUIRES_RESET)                    \
    X(ERROR_DEVICE_IN_LOW_POWER_STATE) X(ERROR_INSUFFICIENT_PERMISSIONS) X(ERROR_NOT_AVAILABLE)                  \
    X(ERROR_DEPENDENCY_UNAVAILABLE) X(WARNING_DROPPED_DATA) X(ERROR_UNINITIALIZED) X(ERROR_UNSUPPORTED_VERSION)  \
    X(ERROR_UNSUPPORTED_FEATURE) X(ERROR_INVALID_ARGUMENT) X(ERROR_INVALID_NULL_HANDLE)                          \
    X(ERROR_HANDLE_OBJECT_IN_USE) X(ERROR_INVALID_NULL_POINTER) X(ERROR_INVALID_SIZE) X(ERROR_UNSUPPORTED_SIZE)  \
    X(ERROR_UNSUPPORTED_ALIGNMENT) X(ERROR_INVALID_SYNCHRONIZATION_OBJECT) X(ERROR_INVALID_ENUMERATION)          \
    X(ERROR_UNSUPPORTED_ENUMERATION) X(ERROR_UNSUPPORTED_IMAGE_FORMAT) X(ERROR_INVALID_NATIVE_BINARY)            \
    X(ERROR_INVALID_GLOBAL_NAME) X(ERROR_INVALID_KERNEL_NAME) X(ERROR_INVALID_FUNCTION_NAME)                     \
    X(ERROR_INVALID_GROUP_SIZE_DIMENSION) X(ERROR_INVALID_GLOBAL_WIDTH_DIMENSION)                                \
    X(ERROR_INVALID_KERNEL_ARGUMENT_INDEX) X(ERROR_INVALID_KERNEL_ARGUMENT_SIZE)                                 \
    X(ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE) X(ERROR_INVALID_MODULE_UNLINKED) X(ERROR_INVALID_COMMAND_LIST_TYPE)  \
    X(ERROR_OVERLAPPING_REGIONS) X(WARNING_ACTION_REQUIRED) X(ERROR_UNKNOWN)

const char *shi_ze_result_name(ze_result_t r)
{
    static const struct {
        ze_result_t code;
        const char *name;
    } table[] = {
#define X(NAME) {ZE_RESULT_##NAME, #NAME},
        RESULTS(X)
#undef X
    };
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == r)
            return table[i].name;
    return "unknown result";
}
