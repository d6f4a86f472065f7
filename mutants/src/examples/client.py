"""client.py - OpenSHMEM from Python, through shmem4py: every PE puts four numbers into the next PE, then all PEs add theirs up.

  run: PYTHONPATH=.../shmem4py/src oshrun -n 4 python3 client.py     README.md describes how to build shmem4py
"""
import numpy as np
from shmem4py import shmem

me, n = shmem.my_pe(), shmem.n_pes()
received = shmem.zeros(4, dtype="i8")
total = shmem.zeros(4, dtype="i8")
shmem.put(received, np.arange(4) ** 2 + me, (me + 1) % n)
shmem.barrier_all()
shmem.sum_reduce(total, received)
if me == 0:
    print("sums over", n, "PEs:", *total)
shmem.free(total)
shmem.free(received)
