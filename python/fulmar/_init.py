"""_init.py - start and end of the library: under a launcher, or by an id that the processes share in some other way."""
import base64
import ctypes
import os
import time

from . import _lib
from ._lib import INT, PTR
from ._memory import need_up, on_finalize, state

_init_thread = _lib.routine("shmem_init_thread", INT, INT, PTR)
_finalize = _lib.routine("shmem_finalize", None)
_exit = _lib.routine("shmem_global_exit", None, INT)
_my_pe, _n_pes = _lib.routine("shmem_my_pe", INT), _lib.routine("shmem_n_pes", INT)

_get_uniqueid = _lib.routine("shmemx_get_uniqueid", INT, PTR)
_set_args = _lib.routine("shmemx_set_attr_uniqueid_args", INT, INT, INT, PTR, PTR)
_init_attr = _lib.routine("shmemx_init_thread_attr", INT, ctypes.c_uint, PTR, INT, PTR)

THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)
_ID_BYTES, _ATTR_BYTES, _WITH_UNIQUEID = 128, 144, 1 << 3


def init(id=None, rank=None, size=None, threads=THREAD_MULTIPLE):
    """Start this PE. Collective over all PEs of the job. Without an id the launcher says which PE this is (oshrun, srun, mpirun; none: a
    job of one PE). With the id of unique_id(), this is PE `rank` of `size`, whatever started the processes; after finalize() the process may
    join another job with a new id."""
    if state["up"]:
        return
    provided = ctypes.c_int()
    if id is None:
        failed = _init_thread(threads, ctypes.byref(provided))
    else:
        failed = _init_by_id(id, rank, size, threads, provided)
    if failed:
        raise RuntimeError("the library did not start: see the line above")
    state["up"] = True


def _init_by_id(id, rank, size, threads, provided):
    if rank is None or size is None or not 0 <= rank < size:
        raise ValueError(f"init(id, rank, size): rank {rank} of {size}")
    if len(id) != _ID_BYTES:
        raise ValueError(f"the id has {len(id)} bytes, not {_ID_BYTES}")
    kept, attr = ctypes.create_string_buffer(bytes(id), _ID_BYTES), (ctypes.c_uint64 * (_ATTR_BYTES // 8))()
    return _set_args(rank, size, kept, attr) or _init_attr(_WITH_UNIQUEID, attr, threads, ctypes.byref(provided))


def unique_id():
    """The id of a new job, as 128 bytes: one process of the job makes it and gives it to all. Who has it can join the job."""
    made = ctypes.create_string_buffer(_ID_BYTES)
    if _get_uniqueid(made):
        raise RuntimeError("no unique id: see the line above")
    return made.raw


def finalize():
    """Wait for all PEs, and end the library. Symmetric arrays must not be used afterwards. A program that ends without an error does this
    by itself."""
    if state["up"]:
        while on_finalize:
            on_finalize.pop()()
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


# ---- ways by which all PEs get the id of rank 0 ------------------------------------------------------------------------


def init_from_file(path, rank, size, seconds=60):
    """init by an id in a file that all can read: rank 0 writes it, and removes it when all have started. Each job has its own path."""
    if rank == 0:
        made = unique_id()
        descriptor = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(made)
        os.rename(f"{path}.new", path)
    else:
        _poll(lambda: os.path.exists(path) or None, f"the file {path}", seconds)
        with open(path, "rb") as file:
            made = file.read()
    try:
        init(made, rank, size)
    finally:
        if rank == 0:
            os.unlink(path)


def init_from_store(store, rank, size, key="fulmar/id", seconds=60):
    """init by an id in a store with set(key, text) and get(key), such as those of torch.distributed. get may wait, or return None."""
    if rank == 0:
        made = unique_id()
        store.set(key, base64.b64encode(made).decode())
    else:
        made = base64.b64decode(_poll(lambda: store.get(key), f"{key} in the store", seconds))
    init(made, rank, size)


def init_from_mpi(comm):
    """init of the processes of a communicator of mpi4py, in the order of their ranks."""
    init(comm.bcast(unique_id() if comm.rank == 0 else None), comm.rank, comm.size)


def _poll(look, what, seconds):
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found is not None:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not appear in {seconds} s: is rank 0 running?")
        time.sleep(0.005)
