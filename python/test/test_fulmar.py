"""test_fulmar.py - the package, with any number of PEs: oshrun -n 4 python3 -m unittest test_fulmar. Above each test: what it catches."""
import ctypes
import os
import signal
import time
import unittest
import weakref
from unittest import mock

import numpy as np

import fulmar
import streams
from case import FLOATS, INTS, Case, start
from fulmar import _init, device

ATOMIC = ("i4", "i8", "u4", "u8")


def setUpModule():
    start()
    print(f"PE {fulmar.my_pe()} of {fulmar.n_pes()}", flush=True)


def tearDownModule():
    fulmar.finalize()
    if os.environ.get("FULMAR_TEST_INIT", "").startswith("store"):
        fulmar.init(fulmar.unique_id(), 0, 1)
        pes, word = fulmar.n_pes(), fulmar.zeros(2, "u8")
        fulmar.put(word, np.array([3, 4], "u8"), 0)
        fulmar.quiet()
        if pes != 1 or word[1] != 4:
            raise AssertionError(f"a second job of the same process: {pes} PEs, {word}")
        fulmar.finalize()


class Arrays(Case):
    # Catches: a view of the wrong size or type, memory that is not zero, memory that is not symmetric.
    def test_makers(self):
        for dtype in (*INTS, *FLOATS, "c8", "c16", "b1"):
            with fulmar.freed(fulmar.zeros((3, 2), dtype)) as a:
                self.assertEqual((a.shape, a.dtype), ((3, 2), np.dtype(dtype)))
                self.same(a, np.zeros((3, 2), dtype))
        with fulmar.freed(fulmar.full(3, 7), fulmar.array([[1.5, 2], [3, 4]])) as (a, b):
            self.same(a, [7, 7, 7])
            self.same(b, [[1.5, 2], [3, 4]])
            self.assertEqual(a.dtype, np.dtype(int))

    # Catches: an array that a PE fills after another PE has put into it.
    def test_filled_everywhere(self):
        def late(empty):
            def call(*args):
                a = empty(*args)
                if self.me == 0:
                    time.sleep(0.2)
                return a
            return call

        for where, make in (fulmar._heap, lambda: fulmar.array([1, 2, 3])), (fulmar._heap, lambda: fulmar.full(3, 1)), \
                           (device, lambda: device.array([1, 2, 3])):
            with mock.patch.object(where, "empty", late(where.empty)):
                a = make()
            if self.me == self.n - 1:
                fulmar.put(a[1:2], [9], 0)
            fulmar.barrier_all()
            if self.me == 0:
                self.assertEqual((a if where is fulmar._heap else a.numpy())[1], 9)
            fulmar.free(a)

    # Catches: free that does not return memory.
    def test_free(self):
        a = fulmar.empty(1 << 20)
        first = a.ctypes.data
        fulmar.free(a)
        b = fulmar.empty(1 << 20)
        self.assertEqual(first, b.ctypes.data)
        fulmar.free(b)

    # Catches: a view of this PE's memory in place of the other's.
    def test_remote_view(self):
        with fulmar.freed(fulmar.full(2, self.me)) as a:
            fulmar.barrier_all()
            theirs = fulmar.remote_view(a, self.next)
            if theirs is not None:
                self.same(theirs, [self.next] * 2)
            fulmar.barrier_all()

    # Catches: an error that ends the job instead of raising an exception.
    def test_errors(self):
        with fulmar.freed(fulmar.zeros(4), fulmar.zeros(4, "i8")) as (a, i):
            for error, call in (
                    (ValueError, lambda: fulmar.put(np.zeros(4), [1], 0)),
                    (ValueError, lambda: _init._init_by_id(b"x" * 127, 0, 1, 0, None)),
                    (ValueError, lambda: _init._init_by_id(b"x" * 128, 1, 1, 0, None)),
                    (ValueError, lambda: fulmar.put(a, [1], self.n)),
                    (ValueError, lambda: fulmar.put(a, [1], -1)),
                    (ValueError, lambda: fulmar.put(a[:2], [1, 2, 3], 0)),
                    (ValueError, lambda: fulmar.put_nbi(a[::2], [1, 2], 0)),
                    (ValueError, lambda: fulmar.atomic_add(i, 1, 0)),
                    (ValueError, lambda: fulmar.wait_until(i[:1], "=", 1)),
                    (TypeError, lambda: fulmar.put(a, np.zeros(1, "i8"), 0)),
                    (TypeError, lambda: fulmar.put([1], [1], 0)),
                    (TypeError, lambda: fulmar.get([1.0], a, 0)),
                    (TypeError, lambda: fulmar.atomic_add(a[:1], 1, 0)),
                    (TypeError, lambda: fulmar.reduce(a, a, "xor")),
                    (TypeError, lambda: fulmar.signal_set(i[:1], 1, 0)),
                    (TypeError, lambda: fulmar.set_lock(a[:1])),
                    (TypeError, lambda: fulmar.zeros(1, object)),
                    (MemoryError, lambda: fulmar.zeros(1 << 50, "i1"))):
                self.assertRaises(error, call)
            fulmar.barrier_all()


class Rma(Case):
    # Catches: wrong bytes, PE or type.
    def test_put_get(self):
        for dtype in (*INTS, *FLOATS, "c16"):
            with fulmar.freed(fulmar.zeros(5, dtype)) as a:
                fulmar.put(a, [self.me, 1, 2, 3], self.next)
                fulmar.barrier_all()
                self.same(a, np.array([self.last, 1, 2, 3, 0], dtype))
                self.same(fulmar.get(np.zeros(5, dtype), a, self.next), np.array([self.me, 1, 2, 3, 0], dtype))
                fulmar.barrier_all()
                fulmar.p(a[4:], self.me + 1, self.next)
                fulmar.barrier_all()
                self.assertEqual(fulmar.g(a[4:], self.me), self.last + 1)
                fulmar.barrier_all()

    # Catches: strides that are ignored or taken for bytes.
    def test_strides(self):
        for dtype in ("i1", "u2", "f4", "i8", "c16"):
            with fulmar.freed(fulmar.zeros((4, 3), dtype)) as a:
                fulmar.put(a[:, 1], np.arange(8, dtype=dtype)[::2], self.next)
                fulmar.barrier_all()
                self.same(a, np.array([[0, v, 0] for v in (0, 2, 4, 6)], dtype))
                got = np.zeros(8, dtype)
                fulmar.get(got[1::2], a[:, 1], self.next)
                self.same(got, np.array([0, 0, 0, 2, 0, 4, 0, 6], dtype))
                self.assertRaises(ValueError, fulmar.put, a[:, 1:], a[:, :2], 0)
                fulmar.barrier_all()

    # Catches: a source that Python frees before quiet.
    def test_nbi(self):
        with fulmar.freed(fulmar.zeros((50, 1000))) as a:
            for i in range(50):
                fulmar.put_nbi(a[i], np.full(1000, self.me + i, float), self.next)
            fulmar.quiet()
            fulmar.barrier_all()
            self.same(a, np.add.outer(self.last + np.arange(50), np.zeros(1000)))
            source = np.zeros(1000)
            kept = weakref.ref(source)
            fulmar.put_nbi(a[0], source, self.me)
            del source
            self.assertIsNotNone(kept())
            fulmar.quiet()
            self.assertIsNone(kept())
            got = np.zeros(1000)
            fulmar.get_nbi(got, a[7], self.next)
            fulmar.quiet()
            self.same(got, np.full(1000, self.me + 7))
            fulmar.barrier_all()

    # Catches: a signal before its data, a wrong operation on the signal.
    def test_signals(self):
        with fulmar.freed(fulmar.zeros(100, "f4"), fulmar.zeros(2, "u8")) as (a, s):
            fulmar.put_signal(a, np.full(100, self.me + 1, "f4"), s[:1], 5, self.next)
            self.assertEqual(fulmar.signal_wait_until(s[:1], ">=", 5), 5)
            self.same(a, np.full(100, self.last + 1, "f4"))
            fulmar.sync_all()
            fulmar.put_signal(a, np.zeros(100, "f4"), s[:1], 2, self.next, op=fulmar.SIGNAL_ADD, nbi=True)
            fulmar.signal_wait_until(s[:1], "==", 7)
            fulmar.signal_add(s[1:], 3, self.next)
            fulmar.signal_wait_until(s[1:], ">=", 3)
            fulmar.signal_set(s[1:], 1 << 63, self.next)
            fulmar.signal_wait_until(s[1:], ">", 1 << 62)
            self.assertEqual(fulmar.signal_fetch(s[1:]), 1 << 63)
            fulmar.barrier_all()


class Atomics(Case):
    # Catches: a wrong operation, type or sign.
    def test_each(self):
        for dtype in ATOMIC:
            with fulmar.freed(fulmar.full(1, 12, dtype)) as a:
                fulmar.barrier_all()
                if self.me == 0:
                    pe = self.n - 1
                    self.assertEqual(fulmar.atomic_fetch_add(a, 3, pe), 12)
                    fulmar.atomic_add(a, 1, pe)
                    self.assertEqual(fulmar.atomic_fetch_inc(a, pe), 16)
                    fulmar.atomic_inc(a, pe)
                    self.assertEqual(fulmar.atomic_swap(a, 5, pe), 18)
                    self.assertEqual(fulmar.atomic_compare_swap(a, 4, 1, pe), 5)
                    self.assertEqual(fulmar.atomic_compare_swap(a, 5, 6, pe), 5)
                    self.assertEqual(fulmar.atomic_fetch_and(a, 3, pe), 6)
                    self.assertEqual(fulmar.atomic_fetch_or(a, 9, pe), 2)
                    self.assertEqual(fulmar.atomic_fetch_xor(a, 1, pe), 11)
                    fulmar.atomic_and(a, 8, pe)
                    fulmar.atomic_or(a, 4, pe)
                    fulmar.atomic_xor(a, 1, pe)
                    self.assertEqual(fulmar.atomic_fetch(a, pe), 13)
                    top = np.iinfo(dtype).max
                    fulmar.atomic_set(a, top, pe)
                    self.assertEqual(fulmar.atomic_fetch(a, pe), np.dtype(dtype).type(top))
                fulmar.barrier_all()
        with fulmar.freed(fulmar.zeros(1, "f4"), fulmar.zeros(1)) as (f, d):
            for a in (f, d):
                fulmar.atomic_set(a, 1.5, self.me)
                self.assertEqual(fulmar.atomic_swap(a, 2.5, self.me), 1.5)
                self.assertEqual(fulmar.atomic_fetch(a, self.me), 2.5)

    # Catches: an addition that is not atomic.
    def test_all_at_once(self):
        with fulmar.freed(fulmar.zeros(1, "i8")) as a:
            for _ in range(200):
                fulmar.atomic_add(a, 1, 0)
            fulmar.barrier_all()
            self.assertEqual(fulmar.atomic_fetch(a, 0), 200 * self.n)
            fulmar.barrier_all()

    # Catches: two PEs in the block at once.
    def test_locks(self):
        with fulmar.freed(fulmar.zeros(1, "i8"), fulmar.zeros(1, "i8")) as (lock, count):
            for _ in range(20):
                with fulmar.locked(lock):
                    fulmar.p(count, fulmar.g(count, 0) + 1, 0)
                    fulmar.quiet()
            fulmar.barrier_all()
            self.assertEqual(fulmar.g(count, 0), 20 * self.n)
            fulmar.barrier_all()
            if self.me == 0:
                self.assertTrue(fulmar.test_lock(lock))
                self.assertFalse(fulmar.test_lock(lock))
                fulmar.clear_lock(lock)
            fulmar.barrier_all()


class Waits(Case):
    # Catches: a wrong comparison or type.
    def test_one(self):
        for dtype in ("i2", "u2", *ATOMIC):
            with fulmar.freed(fulmar.zeros(1, dtype)) as a:
                self.assertTrue(fulmar.test(a, "==", 0))
                self.assertFalse(fulmar.test(a, "!=", 0))
                self.assertTrue(fulmar.test(a, ">=", 0))
                self.assertFalse(fulmar.test(a, "<", 0))
                self.assertTrue(fulmar.test(a, "<=", 1))
                self.assertFalse(fulmar.test(a, ">", 1))
                if dtype[0] == "i":
                    a[0] = -3
                    self.assertTrue(fulmar.test(a, "<", 0))
                    a[0] = 0
                fulmar.sync_all()
                fulmar.p(a, self.me + 1, self.next)
                fulmar.wait_until(a, ">", 0)
                self.assertEqual(a[0], self.last + 1)
                fulmar.barrier_all()

    # Catches: wrong indices, values or ignored elements.
    def test_many(self):
        with fulmar.freed(fulmar.array([5, 0, 7, 0], "i8")) as a:
            self.assertIn(fulmar.wait_until_any(a, ">", 0), (0, 2))
            self.assertEqual(fulmar.wait_until_any(a, ">", 0, ignore=[1, 0, 0, 0]), 2)
            self.assertIsNone(fulmar.wait_until_any(a, ">", 0, ignore=[1] * 4))
            self.assertEqual(sorted(fulmar.wait_until_some(a, ">", 0)), [0, 2])
            self.assertEqual(sorted(fulmar.test_some(a, "==", [0, 0, 7, 1])), [1, 2])
            self.assertIsNone(fulmar.test_any(a, "==", 9))
            self.assertFalse(fulmar.test_all(a, ">", 0))
            self.assertTrue(fulmar.test_all(a, "==", [5, 0, 7, 0]))
            fulmar.wait_until_all(a, ">", 0, ignore=[0, 1, 0, 1])
            self.assertRaises(ValueError, fulmar.test_all, a, "==", [1, 2])
            fulmar.barrier_all()


    # Catches: a wait during which Python handles no signal; one that a signal ends although its handler raises nothing.
    def test_interrupted(self):
        class Interrupt(Exception):
            pass

        def interrupt(*_):
            raise Interrupt

        seen = []
        before = signal.getsignal(signal.SIGALRM)
        with fulmar.freed(fulmar.zeros(2, "i8"), fulmar.zeros(1, "u8")) as (a, s):
            try:
                signal.signal(signal.SIGALRM, interrupt)
                for wait in (lambda: fulmar.wait_until(a[:1], "==", 1), lambda: fulmar.wait_until_all(a, "==", 1),
                             lambda: fulmar.wait_until_any(a, "==", 1), lambda: fulmar.wait_until_some(a, ">", [0, 1]),
                             lambda: fulmar.signal_wait_until(s, "!=", 0)):
                    signal.setitimer(signal.ITIMER_REAL, 0.02)
                    self.assertRaises(Interrupt, wait)
                signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                fulmar.sync_all()
                time.sleep(0.2)
                fulmar.put_signal(a, [1, 1], s, 3, self.next)
                self.assertEqual(fulmar.signal_wait_until(s, ">", 2), 3)
                fulmar.wait_until_all(a, "==", 1)
                self.assertEqual(seen, [1])
            finally:
                signal.signal(signal.SIGALRM, before)
            fulmar.barrier_all()


class Collectives(Case):
    # Catches: a wrong operation, type or number of elements.
    def test_reduce(self):
        want = {"sum": lambda v: np.add.reduce(v), "prod": lambda v: np.multiply.reduce(v), "min": lambda v: np.minimum.reduce(v),
                "max": lambda v: np.maximum.reduce(v), "and": lambda v: np.bitwise_and.reduce(v),
                "or": lambda v: np.bitwise_or.reduce(v), "xor": lambda v: np.bitwise_xor.reduce(v)}
        for dtype in (*INTS, *FLOATS, "c8", "c16"):
            ops = [op for op in want if dtype in INTS or op in ("sum", "prod") or dtype in FLOATS and op in ("min", "max")]
            sign = 1 if dtype[0] == "u" else -1
            values = [np.array([pe + 1, 2, sign * (pe % 2)], dtype) for pe in range(self.n)]
            with fulmar.freed(fulmar.array(values[self.me]), fulmar.zeros(3, dtype)) as (source, dest):
                for op in ops:
                    fulmar.reduce(dest, source, op)
                    self.same(dest, want[op](values).astype(dtype))
                    fulmar.sync_all()

    # Catches: blocks in the wrong order or of the wrong length.
    def test_copies(self):
        n, me = self.n, self.me
        with fulmar.freed(fulmar.zeros(2 * n, "f4"), fulmar.full(2, me, "f4"), fulmar.zeros(n * n)) as (dest, source, ragged):
            fulmar.fcollect(dest, source)
            self.same(dest, np.repeat(np.arange(n, dtype="f4"), 2))
            fulmar.sync_all()
            fulmar.broadcast(dest[:2], source, n - 1)
            self.same(dest[:2], [n - 1] * 2)
            fulmar.sync_all()
            with fulmar.freed(fulmar.array(100.0 * me + np.arange(n)), fulmar.zeros(n)) as (out, into):
                fulmar.alltoall(into, out)
                self.same(into, 100.0 * np.arange(n) + me)
                fulmar.sync_all()
                fulmar.collect(ragged, out[:me])
                self.same(ragged[:n * (n - 1) // 2], [100.0 * pe + i for pe in range(n) for i in range(pe)])
                fulmar.sync_all()
                fulmar.scan(into, out)
                self.same(into, sum(100.0 * pe + np.arange(n) for pe in range(me + 1)))
                fulmar.sync_all()
                fulmar.scan(into, out, inclusive=False)
                self.same(into, sum((100.0 * pe + np.arange(n) for pe in range(me)), np.zeros(n)))
            with fulmar.freed(fulmar.zeros((n, 2)), fulmar.array(np.arange(3.0 * n) + 100 * me)) as (into, out):
                fulmar.alltoall(into[:, 1], out[::3])
                self.same(into, [[0, 100 * pe + 3 * me] for pe in range(n)])
            self.assertRaises(ValueError, fulmar.fcollect, dest[:2 * n - 1], source)
            self.assertRaises(TypeError, fulmar.broadcast, dest, ragged)
            fulmar.barrier_all()


class TeamsAndContexts(Case):
    # Catches: numbers of the world where those of the team are needed.
    def test_teams(self):
        self.assertEqual((fulmar.WORLD.my_pe, fulmar.WORLD.n_pes), (self.me, self.n))
        even = (self.n + 1) // 2
        with fulmar.split_strided(0, 2, even) as team, fulmar.freed(fulmar.zeros(1, "i8"), fulmar.full(1, self.me)) as (dest, source):
            self.assertEqual(bool(team), self.me % 2 == 0)
            self.assertEqual(team.my_pe, self.me // 2 if team else -1)
            if team:
                self.assertEqual(team.translate(team.n_pes - 1, fulmar.WORLD), 2 * (even - 1))
                team.reduce(dest, source)
                self.same(dest, sum(range(0, self.n, 2)))
                team.sync()
                with team.context() as c:
                    c.put(dest, [team.my_pe], (team.my_pe + 1) % even)
                    c.quiet()
                    self.assertRaises(ValueError, c.put, dest, [1], even)
                team.sync()
                self.same(dest, (team.my_pe - 1) % even)
            fulmar.barrier_all()
        x, y = fulmar.split_2d(2)
        self.assertEqual((x.my_pe, y.my_pe), (self.me % 2 if x.n_pes > 1 else 0, self.me // 2))
        x.destroy(), y.destroy()

    # Catches: a context whose quiet completes nothing.
    def test_contexts(self):
        with fulmar.freed(fulmar.zeros(1000, "i8"), fulmar.zeros(1, "i8")) as (a, flag):
            with fulmar.Context(options=fulmar.SERIALIZED) as c:
                c.put_nbi(a, np.arange(1000), self.next)
                c.fence()
                c.atomic_add(flag, 1, self.next)
                c.quiet()
            fulmar.wait_until(flag, "==", 1)
            self.same(a, np.arange(1000))
            fulmar.barrier_all()


class Devices(Case):
    # Catches: a wrong size, a part at the wrong address, host memory in place of the device's.
    def test_arrays(self):
        with device.zeros((4, 3), "f4") as a, device.array(np.arange(6).reshape(2, 3)) as b:
            self.same(a.numpy(), np.zeros((4, 3)))
            self.same(b[1].numpy(), [3, 4, 5])
            self.same(b[1:].numpy(), [[3, 4, 5]])
            self.same(b[-1].numpy(), [3, 4, 5])
            self.assertRaises(ValueError, lambda: b[::2])
            self.assertRaises(ValueError, b[1].free)
            a.fill([1, 2, 3])
            self.same(a.numpy(), [[1, 2, 3]] * 4)
            fulmar.barrier_all()
            fulmar.put(a[2], np.full(3, self.me, "f4"), self.next)
            fulmar.barrier_all()
            self.same(a[1:].numpy(), [[1, 2, 3], [self.last] * 3, [1, 2, 3]])
            self.same(fulmar.get(np.zeros(3, "i8"), b[1], self.next), [3, 4, 5])
            fulmar.barrier_all()

    # Catches: a capsule with a wrong type, shape or device; one that the consumer cannot keep.
    def test_interfaces(self):
        with device.array(np.arange(6, dtype="f4").reshape(2, 3)) as a:
            if a.__dlpack_device__()[0] == 1:
                for _ in range(3):
                    self.same(np.from_dlpack(a), np.arange(6).reshape(2, 3))
                    self.same(np.from_dlpack(a[1]), [3, 4, 5])
                self.assertFalse(hasattr(a, "__cuda_array_interface__"))
            else:
                kind, number = a.__dlpack_device__()
                self.assertEqual((kind, number >= 0), (2, True))
                there = a.__cuda_array_interface__
                self.assertEqual((there["shape"], there["typestr"], there["data"]), ((2, 3), "<f4", (a.address, False)))
            get = ctypes.pythonapi.PyCapsule_GetPointer
            get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            self.assertEqual(ctypes.c_void_p.from_address(get(a.__dlpack__(), b"dltensor")).value, a.address)
            fulmar.barrier_all()

    # Catches: an array of another package, such as a tensor of PyTorch, that is not found to be symmetric or is copied.
    def test_other_packages(self):
        class CpuTensor:
            def __init__(self, a):
                self.a = a

            def __dlpack__(self):
                return self.a.__dlpack__()

            def __dlpack_device__(self):
                return self.a.__dlpack_device__()

        with fulmar.freed(fulmar.zeros((4, 2), "i4")) as a:
            fulmar.put(CpuTensor(a[:, 1]), CpuTensor(np.arange(4, dtype="i4") + self.me), self.next)
            fulmar.barrier_all()
            self.same(a, [[0, i + self.last] for i in range(4)])
            got = np.zeros(4, "i4")
            fulmar.get(CpuTensor(got), CpuTensor(a[:, 1]), self.me)
            self.same(got, a[:, 1])
            fulmar.barrier_all()

        class Tensor:
            def __init__(self, a):
                self.__cuda_array_interface__ = {"shape": a.shape, "typestr": a.dtype.str, "data": (a.address, False), "version": 3}

        with device.zeros(4, "i4") as a:
            fulmar.put(Tensor(a), [1, 2, 3, self.me], self.next)
            fulmar.barrier_all()
            self.same(a.numpy(), [1, 2, 3, self.last])
            fulmar.barrier_all()

    # Catches: arguments of the wrong size, calls in the queue that start early or late.
    @unittest.skipUnless(os.environ.get("FULMAR_TEST_KERNELS"), "no kernels were compiled")
    def test_kernels(self):
        device.load(os.environ["FULMAR_TEST_KERNELS"])
        with device.zeros(1, "i8") as slot, device.zeros(1, "u8") as arrived, device.zeros(self.n, "i8") as all_of_them:
            device.launch("pass_on", 1, (4, 1), slot, arrived, 10)
            device.queue.put(all_of_them[self.me], slot, 0)
            device.queue.barrier_all()
            device.queue.sync()
            self.same(slot.numpy(), [10 * self.last])
            if self.me == 0:
                self.same(all_of_them.numpy(), [10 * ((pe - 1) % self.n) for pe in range(self.n)])
            self.assertRaises(RuntimeError, device.launch, "no such kernel", 1, 1)
            fulmar.barrier_all()


class Streams(streams.Streams):
    """The tests of that module, in a class of this one, whose setUpModule and tearDownModule start and end the library."""


if __name__ == "__main__":
    unittest.main()
