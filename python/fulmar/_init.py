"""_init.py - start and end of the library: under a launcher."""
import ctypes

from . import _lib
from ._lib import INT, PTR
from ._memory import need_up, state

_init_thread = _lib.routine("shmem_init_thread", INT, INT, PTR)
_finalize = _lib.routine("shmem_finalize", None)
_exit = _lib.routine("shmem_global_exit", None, INT)
_my_pe, _n_pes = _lib.routine("shmem_my_pe", INT), _lib.routine("shmem_n_pes", INT)

THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)


def init(threads=THREAD_MULTIPLE):
    """Start this PE. Collective over all PEs of the job. The launcher says which PE this is (oshrun, srun, mpirun; none: a job of one
    PE)."""
    if state["up"]:
        return
    provided = ctypes.c_int()
    if _init_thread(threads, ctypes.byref(provided)):
        raise RuntimeError("the library did not start: see the line above")
    state["up"] = True


def finalize():
    """Wait for all PEs, and end the library. Symmetric arrays must not be used afterwards. A program that ends without an error does this
    by itself."""
    if state["up"]:
        state["up"] = False
        _finalize()


def global_exit(status=0):
    """End the processes of all PEs at once."""
    need_up()
    _exit(status)


def my_pe():
    """The number of this PE, from 0."""
    need_up()
    return _my_pe()


def n_pes():
    """The number of PEs."""
    need_up()
    return _n_pes()
