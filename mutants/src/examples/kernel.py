"""kernel.py - a kernel started from Python: it passes each PE's number on, and NumPy arrays of the symmetric heap receive what it left.

  build: oshcc -O2 -shared -fPIC pass.cl -o pass.so
  run: PYTHONPATH=.../shmem4py/src oshrun -n 4 python3 kernel.py ./pass.so     README.md describes how to build shmem4py
"""
import ctypes
import sys
import numpy as np
from shmem4py import shmem

me, n = shmem.my_pe(), shmem.n_pes()
fulmar = ctypes.CDLL(sys.argv[1])  # registers its kernels; finds the routines of shmemx.h, too
fulmar.shmemg_calloc.restype = ctypes.c_void_p
fulmar.shmemg_calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
fulmar.shmemg_free.argtypes = [ctypes.c_void_p]
fulmar.shmem_getmem.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def launch(kernel, *addresses):
    """Start one work-item of a kernel whose arguments are addresses of device memory, and wait for its end."""
    one = (ctypes.c_size_t * 3)(1, 1, 1)
    values = [ctypes.c_void_p(a) for a in addresses]
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    sizes = (ctypes.c_size_t * len(values))(*map(ctypes.sizeof, values))
    if fulmar.shmemx_launch(kernel.encode(), one, one, pointers, sizes, len(values)) or fulmar.shmemx_device_sync():
        shmem.global_exit(1)


slot, arrived = fulmar.shmemg_calloc(1, 8), fulmar.shmemg_calloc(1, 8)  # in the device symmetric heap
if not slot or not arrived:
    shmem.global_exit(1)
launch("pass_on", slot, arrived)
shmem.barrier_all()
received = shmem.zeros(n, dtype="i8")
for pe in range(n):
    fulmar.shmem_getmem(received[pe:].ctypes.data, slot, 8, pe)
total = shmem.zeros(n, dtype="i8")
shmem.sum_reduce(total, received)
if me == 0:
    print("the kernels passed:", *received)
    assert np.array_equal(total, n * received)
fulmar.shmemg_free(arrived)
fulmar.shmemg_free(slot)
shmem.free(total)
shmem.free(received)
