/* launch.h - for entry points that use kernels: require the device, and enter modules that the program built. */
#ifndef SHI_API_LAUNCH_H
#define SHI_API_LAUNCH_H

#include <stdint.h>

/* Die unless kernels that communicate can be started. */
void shi_need_device(const char *routine);

/* Prepare a module of the program for communication, or complete its kernels' requests and forget it. 0 or -errno after one
 * line: -EINVAL when it does not contain the device library or was not entered, -EALREADY. */
int shi_module_enter(const char *routine, void *module);
int shi_module_leave(const char *routine, void *module);

/* Have this function called as well for a fault of kernels that had no valid context, see proxy/handle.h. It clears the fault. */
void shi_module_faults(uint64_t (*fault)(void));

#endif
