/* launch.h - for entry points that deal with kernels: the device is ready, and modules that the program built. */
#ifndef SHI_API_LAUNCH_H
#define SHI_API_LAUNCH_H

/* Die unless kernels that communicate can be started. */
void shi_need_device(const char *routine);

/* Fit a module of the program's own for communication, or complete what its kernels asked for and forget it. 0 or -errno
 * after one line: -EINVAL when it has no device library in it or was not entered, -EALREADY. */
int shi_module_enter(const char *routine, void *module);
int shi_module_leave(const char *routine, void *module);

#endif
