/* bitcode.cu - the device library with C names, from which src/tools/bitcode.sh makes libfulmar_device.bc. */
#define __CUDACC_RDC__ 1 /* variables that the host finds in every module, and no kernel that reports them */
#define SHMEMG_API_ extern "C" __device__
#include <shmemg.h>
