"""bitcode_run.py IMAGE - for bitcode.sh: run the kernel of bitcode_kernel.cu on every PE, and check what it leaves."""
import sys

import fulmar
from fulmar import device

fulmar.init()
me, n = fulmar.my_pe(), fulmar.n_pes()
slots, arrived, count, out = device.zeros(2, "i8"), device.zeros(1, "u8"), device.zeros(1, "u8"), device.zeros(4, "i8")
device.load(sys.argv[1])
device.launch("by_names", 1, 1, device.context(), slots, arrived, count, out)
device.sync()
fulmar.barrier_all()
last, got = (me - 1) % n, out.numpy()
assert got[:2].tolist() == [me, 7 + last], got
assert slots.numpy().tolist() == [10 * last, 7 + last], slots.numpy()
before = fulmar.zeros(n, "i8")
fulmar.put(before[me:me + 1], got[2:3], 0)
fulmar.barrier_all()
if me == 0:
    assert sorted(before) == list(range(n)) and count.numpy() == [n], (before, count.numpy())
    print("right on", n, "PEs")
