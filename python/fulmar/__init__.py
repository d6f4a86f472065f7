"""fulmar - OpenSHMEM for Python: symmetric arrays, puts, gets, atomics, signals, waits, collectives, teams and contexts; fulmar.device
has arrays and kernels of GPUs. doc/python.md begins with a tutorial."""
from ._context import NOSTORE, PRIVATE, SERIALIZED, SIGNAL_ADD, SIGNAL_SET, Context, default as _default
from ._heap import array, empty, free, freed, full, remote_view, zeros
from ._init import (THREAD_FUNNELED, THREAD_MULTIPLE, THREAD_SERIALIZED, THREAD_SINGLE, finalize, global_exit, init, init_from_file,
                    init_from_mpi, init_from_store, my_pe, n_pes, unique_id)
from ._lib import PREFIX
from ._team import SHARED, WORLD, Team, barrier_all, sync_all
from ._wait import (clear_lock, locked, set_lock, signal_fetch, signal_wait_until, test, test_all, test_any, test_lock, test_some,
                    wait_until, wait_until_all, wait_until_any, wait_until_some)

# The functions of the default context, and of the team of all PEs.
put, get, p, g, put_nbi, get_nbi = _default.put, _default.get, _default.p, _default.g, _default.put_nbi, _default.get_nbi
put_signal, signal_set, signal_add = _default.put_signal, _default.signal_set, _default.signal_add
fence, quiet = _default.fence, _default.quiet
atomic_fetch, atomic_set, atomic_swap = _default.atomic_fetch, _default.atomic_set, _default.atomic_swap
atomic_inc, atomic_fetch_inc = _default.atomic_inc, _default.atomic_fetch_inc
atomic_add, atomic_fetch_add = _default.atomic_add, _default.atomic_fetch_add
atomic_and, atomic_fetch_and = _default.atomic_and, _default.atomic_fetch_and
atomic_or, atomic_fetch_or = _default.atomic_or, _default.atomic_fetch_or
atomic_xor, atomic_fetch_xor = _default.atomic_xor, _default.atomic_fetch_xor
atomic_compare_swap = _default.atomic_compare_swap
broadcast, collect, fcollect, alltoall, reduce, scan = (WORLD.broadcast, WORLD.collect, WORLD.fcollect, WORLD.alltoall, WORLD.reduce,
                                                        WORLD.scan)
split_strided, split_2d = WORLD.split_strided, WORLD.split_2d
