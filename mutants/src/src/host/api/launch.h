/* launch.h - for entry points that use kernels: require the device, and enter modules that the program built. */
#ifndef SHI_API_LAUNCH_H
#define SHI_API_LAUNCH_H

/* Die unless kernels that communicate can be started. */
void shi_need_device(const char *routine);

/* Prepare a module of the program for communication, or complete its kernels' requests and forget it. 0 or -errno after one
 * line: -EINVAL when it does not contain the device library or was not entered, -EALREADY. */
int shi_module_enter(const char *routine, void *module);
int shi_module_leave(const char *routine, void *module);

#endif
