"""streams.py - operations in the order of CUDA streams, run by test_fulmar.py. Without a CUDA device all are skipped."""
import ctypes
import unittest

import numpy as np

import fulmar
from case import INTS, Case
from fulmar import _cuda, _lib, _stream, device

INT, PTR = ctypes.c_int, ctypes.c_void_p


def is_cuda():
    return _cuda.owner(_stream._context_of_kernels()) is not None


class Streams(Case):
    """Streams that CUDA has made, as another package makes them."""

    @classmethod
    def setUpClass(cls):
        with device.zeros(1):  # takes the device
            if not is_cuda():
                raise unittest.SkipTest("this PE has no CUDA device")
            try:
                _lib.device_file("libfulmar_on_stream.ptx")
            except FileNotFoundError as error:
                raise unittest.SkipTest(str(error))
            cls.driver, cls.ordinal = _cuda.owner(_stream._context_of_kernels())
            context = PTR()
            cls.cuda("cuDevicePrimaryCtxRetain", (PTR, INT), ctypes.byref(context), cls.ordinal)
            cls.cuda("cuCtxSetCurrent", (PTR,), context)

    @classmethod
    def cuda(cls, name, types, *arguments):
        status = _cuda.call(cls.driver, name, *types)(*arguments)
        assert status == 0, (name, status)

    def setUp(self):
        super().setUp()
        made = PTR()
        self.cuda("cuStreamCreate", (PTR, ctypes.c_uint), ctypes.byref(made), 1)
        self.handle = made.value
        self.stream = device.Stream(self.handle)

    def tearDown(self):
        self.wait()
        self.cuda("cuStreamDestroy", (PTR,), self.handle)
        fulmar.barrier_all()

    def wait(self):
        self.cuda("cuStreamSynchronize", (PTR,), self.handle)

    def fill(self, array, byte, stream=None):
        """Set all bytes, in the order of the stream."""
        self.cuda("cuMemsetD8Async", (PTR, ctypes.c_ubyte, ctypes.c_size_t, PTR), array.address, byte, array.nbytes, stream or self.handle)

    # Catches: a form of a stream that is not understood.
    def test_handles(self):
        class By:
            def __init__(self, **fields):
                self.__dict__.update(fields)

        class ByProtocol:
            def __cuda_stream__(self):
                return 0, 77

        for stream in (77, np.int64(77), By(cuda_stream=77), By(ptr=77), By(handle=PTR(77)), By(handle=77), ByProtocol(), By(__cuda_stream__=(0, 77))):
            self.assertEqual(device.Stream(stream).handle, 77)
        self.assertEqual((device.Stream().handle, device.Stream(By(handle=PTR(0))).handle), (0, 0))
        self.assertRaises(TypeError, device.Stream, "77")
        self.assertRaises(TypeError, device.Stream, By(__cuda_stream__=(1, 77)))

    # Catches: a call that does not wait for what is before it in the stream, or does not come before what is after it.
    def test_order(self):
        n = 1 << 20
        with device.zeros(n, "u1") as a, device.zeros(n, "u1") as b, device.zeros(1, "u8") as go, device.zeros(1, "u8") as arrived:
            self.stream.signal_wait_until(go, "==", 1)  # holds the stream
            self.fill(a, 7)
            self.stream.put_signal(b, a, arrived, 1, self.next)
            self.fill(a, 9)
            self.stream.signal_wait_until(arrived, ">=", 1)
            self.stream.get(a, b, self.me)
            for _ in range(5):
                self.assertEqual(arrived.numpy()[0], 0)
            fulmar.barrier_all()
            fulmar.signal_set(go, 1, self.me)
            self.wait()
            self.same(a.numpy(), np.full(n, 7, "u1"))
            self.same(b.numpy(), np.full(n, 7, "u1"))
            fulmar.barrier_all()

    # Catches: a wrong size, type, direction or PE.
    def test_moves(self):
        for dtype in (*INTS, "f4", "f8", "c16"):
            with device.zeros(5, dtype) as a, device.array(np.array([self.me, 1, 2, 3, 4], dtype)) as mine:
                self.stream.put(a[1:], mine[:3], self.next)
                if a.dtype.itemsize <= 8:
                    self.stream.p(a[4:], -3 if dtype[0] in "if" else 3, self.next)
                self.stream.barrier_all()
                self.wait()
                last = 0 if dtype == "c16" else -3 if dtype[0] in "if" else 3
                self.same(a.numpy(), np.array([0, self.last, 1, 2, last], dtype))
                self.stream.get(mine[2:], a[:3], self.next)  # into which this PE has put its number
                self.wait()
                self.same(mine.numpy(), np.array([self.me, 1, 0, self.me, 1], dtype))
                fulmar.barrier_all()

    # Catches: a comparison or a sign that is wrong, a signal that is set where it is to be added.
    def test_waits(self):
        for dtype in ("i4", "u4", "i8", "u8"):
            with device.zeros(1, dtype) as a:
                self.stream.p(a, -2 if dtype[0] == "i" else 2, self.next)
                self.stream.wait_until(a, "<" if dtype[0] == "i" else ">", 0)
                self.stream.wait_until(a, "!=", 0)
                self.wait()
                self.assertEqual(a.numpy()[0], -2 if dtype[0] == "i" else 2)
                fulmar.barrier_all()
        with device.zeros(1) as a, device.array([1.0]) as one, device.zeros(1, "u8") as s:
            self.stream.put_signal(a, one, s, 5, self.next)
            self.stream.put_signal(a, one, s, 5, self.next, op=fulmar.SIGNAL_ADD)
            self.stream.signal_wait_until(s, "==", 10)
            self.stream.quiet()
            self.wait()
            self.same(a.numpy(), [1])
            fulmar.barrier_all()

    # Catches: blocks in the wrong order or of the wrong length, a wrong operation, a team's numbers that are the world's.
    def test_collectives(self):
        n, me, s = self.n, self.me, self.stream
        with device.zeros(2 * n, "f4") as into, device.array(np.full(2, me, "f4")) as mine, \
                device.array(np.arange(n, dtype="f4") + 100 * me) as out, device.zeros(n * n, "f4") as ragged:
            for root in {0, n - 1}:
                s.broadcast(into, mine, root)
                self.wait()
                self.same(into[:2].numpy(), [root, root])
                fulmar.sync_all()
            s.fcollect(into, mine)
            self.wait()
            self.same(into.numpy(), np.repeat(np.arange(n), 2))
            fulmar.sync_all()
            s.alltoall(into, out)
            self.wait()
            self.same(into[:n].numpy(), 100 * np.arange(n) + me)
            s.collect(ragged, out[:me])
            self.wait()
            self.same(ragged.numpy()[:n * (n - 1) // 2], [100 * pe + i for pe in range(n) for i in range(pe)])
            self.assertRaises(ValueError, s.fcollect, into[:2 * n - 1], mine)
            fulmar.barrier_all()
        even = (n + 1) // 2
        with fulmar.split_strided(0, 2, even) as team, device.zeros(1, "i8") as total, device.array([me + 1]) as mine:
            if team:
                s.reduce(total, mine, team=team)
                self.wait()
                self.same(total.numpy(), [sum(range(1, n + 1, 2))])
                s.sync(team)
                s.broadcast(total, mine, even - 1, team)
                self.wait()
                self.same(total.numpy(), [2 * even - 1])
            else:
                self.assertRaises(ValueError, s.sync, team)
            fulmar.barrier_all()

    # Catches: an operation or a type of reductions whose number is another one's; a result that is written before all have read.
    def test_reductions(self):
        want = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                "xor": np.bitwise_xor}
        for dtype in (*INTS, "f4", "f8"):
            sign = 1 if dtype[0] == "u" else -1
            values = [np.array([pe + 1, 2, sign * (pe % 3), 6], dtype) for pe in range(self.n)]
            with device.array(values[self.me]) as source, device.zeros(4, dtype) as dest:
                for op, ufunc in want.items():
                    if dtype[0] == "f" and op in ("and", "or", "xor"):
                        self.assertRaises(TypeError, self.stream.reduce, dest, source, op)
                        continue
                    self.stream.reduce(dest, source, op)
                    self.wait()
                    self.same(dest.numpy(), ufunc.reduce(values).astype(dtype))  # its source has been read
                self.stream.reduce(source, source)
                self.wait()
                self.same(source.numpy(), np.add.reduce(values).astype(dtype))
        with device.array(np.arange(3000.0)) as a:
            self.stream.reduce(a, a)
            self.wait()
            self.same(a.numpy(), self.n * np.arange(3000.0))

    # Catches: an error of the caller that becomes a kernel's, or is not found.
    def test_errors(self):
        with device.zeros(4) as a, device.zeros(1, "i8") as i, fulmar.freed(fulmar.zeros(4)) as host:
            s = self.stream
            for error, call in ((ValueError, lambda: s.put(a, np.zeros(4), 0)), (ValueError, lambda: s.put(host, a, 0)),
                                (ValueError, lambda: s.put(a[:2], a, 0)), (ValueError, lambda: s.put(a, a, self.n)),
                                (TypeError, lambda: s.put(a, [1.0], 0)), (TypeError, lambda: s.put(i, a[:1], 0)),
                                (TypeError, lambda: s.wait_until(a[:1], "==", 0)), (ValueError, lambda: s.p(a, 1, 0)),
                                (TypeError, lambda: s.put_signal(a, a, i, 1, 0)), (ValueError, lambda: s.reduce(a[:3], a)),
                                (ValueError, lambda: s.get(np.zeros(4), a, 0)), (ValueError, lambda: s.wait_until(i, "=", 0)),
                                (TypeError, lambda: s.reduce(a, a, "mean")), (ValueError, lambda: s.fcollect(host, host))):
                self.assertRaises(error, call)
            fulmar.barrier_all()
