#!/usr/bin/env python3
"""mutate.py - delete one call that orders or completes at a time from a program, and count how often `oshcc --race` finds the race.

  mutate.py [-n PES] [-o table.md] [--flags='FLAG...'] 'PROGRAM.c [ARGUMENT...]'...

Each fence, quiet, flush, wait, barrier, sync or lock call that is a statement of its own is deleted once. The oracle is needless.txt beside this
file: the calls that leave no race when they are deleted, each with the reason, checked by hand. All others leave one. A mutant that does not
compile, that the library refuses, or that does not end within the limit without a report, is counted apart. The exit status is 1 if less than
90 % of the races are found, if a needless call is reported, or if a whole program is.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

CALL = re.compile(r"^(\s*)(?:[a-z_ ]+= *)?(p?shmemx?_(?:ctx_)?(?:[a-z0-9]+_)?(?:pe_)?"
                  r"(?:fence|quiet|flush|wait(?:_until\w*)?|signal_wait_until|barrier(?:_all)?|sync(?:_all)?|set_lock|clear_lock|req_wait))\(.*\);\s*(/\*.*\*/)?\s*$")


def calls_of(lines):
    """Line numbers of calls that are statements of their own."""
    return [i for i, line in enumerate(lines) if CALL.match(line)]


def without(lines, i):
    return lines[:i] + [CALL.match(lines[i]).group(1) + ";\n"] + lines[i + 1:]


def read_oracle(path):
    """(file, call, its number in the file): why deleting it leaves no race."""
    needless = {}
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            file, call, number, why = line.rstrip("\n").split(None, 3)
            needless[file, call, int(number)] = why
    return needless


def run(source, lines, pes, args, limit, more):
    """'reported', 'silent', 'refused' (by the library), 'no end', 'does not compile'."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, os.path.basename(source))
        with open(path, "w") as f:
            f.writelines(lines)
        here = os.path.dirname(os.path.abspath(source))
        top = os.environ.get("top_srcdir", ".")
        compiler = os.environ.get("OSHCC", "oshcc").split()
        flags = ["-O1", "-w", "-D_GNU_SOURCE", f"-I{here}", f"-I{top}/test", f"-I{top}", f"-I{top}/src"]
        program = os.path.join(work, "program")
        if subprocess.run(compiler + ["--race"] + flags + [path, "-o", program, "-lm", "-lpthread"] + more, capture_output=True).returncode:
            return "does not compile"
        out = os.path.join(work, "out")
        with open(out, "wb") as f:
            status = subprocess.run(["timeout", "-k", "5", str(limit)] + os.environ.get("OSHRUN", "oshrun").split() + ["-n", str(pes), program] + args,
                                    stdin=subprocess.DEVNULL, stdout=f, stderr=f, env=dict(os.environ, SHMEM_RACE="abort")).returncode
        text = open(out, "rb").read()
        if b"fulmar race:" in text:
            return "reported"
        if b"fulmar: PE" in text:
            return "refused"
        return "no end" if status in (124, 137) else "silent"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=3)
    parser.add_argument("-o")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--flags", default="", help="more arguments of oshcc, such as a file of kernels, a folder of generated headers or a library")
    parser.add_argument("programs", nargs="+")
    a = parser.parse_args()
    needless = read_oracle(os.path.join(os.path.dirname(os.path.abspath(__file__)), "needless.txt"))
    rows, races, found, wrong = [], 0, 0, False
    for entry in a.programs:
        program, *args = entry.split()
        name = "/".join(program.split("/")[-2:])
        lines = open(program).readlines()
        whole = run(program, lines, a.n, args, a.limit, a.flags.split())
        if whole != "silent":
            print(f"{name}: {whole} without a change", flush=True)
            wrong = True
            continue
        row = {"calls": 0, "races": 0, "found": 0, "false": 0, "apart": 0}
        seen = {}
        for i in calls_of(lines):
            call = CALL.match(lines[i]).group(2)
            seen[call] = seen.get(call, 0) + 1
            why = needless.get((name, call, seen[call]))
            result = run(program, without(lines, i), a.n, args, a.limit, a.flags.split())
            row["calls"] += 1
            if result in ("does not compile", "refused", "no end"):
                row["apart"] += 1
            elif why is None:
                row["races"] += 1
                row["found"] += result == "reported"
            else:
                row["false"] += result == "reported"
            expected = "reported" if why is None else "silent"
            if result != expected:
                print(f"{name}:{i + 1}: without {call} {seen[call]}: {result}", flush=True)
        rows.append((name, row))
        races += row["races"]
        found += row["found"]
        wrong = wrong or row["false"] > 0
        print(f"{name}: {row['found']} of {row['races']} races found, {row['calls'] - row['races'] - row['apart']} needless calls", flush=True)
    table = "| Program | calls | races | found | needless | apart |\n|---|---|---|---|---|---|\n"
    table += "".join(f"| {n} | {r['calls']} | {r['races']} | {r['found']} | {r['calls'] - r['races'] - r['apart']} | {r['apart']} |\n" for n, r in rows)
    if a.o:
        open(a.o, "w").write(table)
    print(f"{found} of {races} races found")
    return 1 if wrong or not races or found < 0.9 * races else 0


if __name__ == "__main__":
    sys.exit(main())
