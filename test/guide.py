"""guide.py - run the guide: every fenced block of doc/*.md and README.md. Results as TAP.

Each page has a folder of its own for its files, with the examples in `examples` and the build tree in `build`; oshcc, oshrun
and oshinfo are in the PATH. The blocks run in their order:

  ```sh         runs in bash; a command that fails, fails the test
  ```text       after sh: the expected output. Lines may come in any order, `...` stands for any text, a line `...` for any lines
  ```c, ```cmake and other files
                are written to the page's folder, or compared if the file is one of the examples
  ```tree       each line begins with a folder of the source tree

A comment before a block says more:

  <!-- file: NAME -->          the file's name; it must be there
  <!-- part of: NAME -->       the block is a part of this example
  <!-- fails: N -->            the commands end with this exit status
  <!-- needs: PROGRAM... -->   skipped where one is missing; `kernels`, `cuda-kernels`, `sycl`: where oshcc cannot compile OpenCL C,
                               CUDA C++, SYCL; `numpy`: python3 is one with NumPy, and finds the package fulmar of the
                               source tree; `mpi4py`, after it: python3 has that package
  <!-- hosts: h1 h2 -->        runs on h1 of two fake hosts (test/lib/hosts.sh); `h1 h2, each`: on both at once; `h1 h2, Slurm`: on h1,
                               with a private Slurm (test/lib/slurm.sh)
  <!-- not run: REASON -->     for what a test machine does not have; bash checks its syntax

In all text, names that begin with SHMEM_, shmem and oshrun's options must exist; in tables of porting.md the last column only.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SRC = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
REASONS = ("a cluster", "a GPU", "a container engine", "root", "the network", "minutes", "a terminal", "another library",
           "shmem4py")
# How a block runs inside `hosts.sh run`: $0 is test/lib, the arguments are the command.
ON_HOSTS = {"": '"$0/hosts.sh" in h1 "$@"',
            "each": '"$0/hosts.sh" in h1 "$@" & first=$!; "$0/hosts.sh" in h2 "$@" && wait $first',
            "Slurm": '"$0/slurm.sh" up && SLURM_CONF=$FAKE_HOSTS/slurm.conf "$0/hosts.sh" in h1 "$@"'}
tests = 0


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def ok(passed, what, log=""):
    global tests
    tests += 1
    print(f"{'ok' if passed else 'not ok'} {tests} - {what}")
    if not passed:
        for line in log.splitlines()[-30:]:
            print("# " + line)
    sys.stdout.flush()


def skip(what, why):
    global tests
    tests += 1
    print(f"ok {tests} - {what} # SKIP {why}", flush=True)


# ---- pages --------------------------------------------------------------------------------------------------------


def blocks_of(page):
    """The fenced blocks: (line, language, comments before it, text)."""
    found, notes, lines, i = [], {}, page.split("\n"), 0
    while i < len(lines):
        note = re.fullmatch(r"<!-- (file|part of|fails|needs|hosts|not run): (.*) -->", lines[i])
        if lines[i].startswith("<!--") and not note:
            raise SystemExit(f"line {i + 1}: unknown comment {lines[i]}")
        if note:
            notes[note[1]] = note[2]
        elif lines[i].startswith("```"):
            start = i
            i += 1
            while not lines[i].startswith("```"):
                i += 1
            found.append((start + 1, lines[start][3:].strip(), notes, "\n".join(lines[start + 1:i]) + "\n"))
            notes = {}
        elif lines[i].strip():
            if notes:
                raise SystemExit(f"line {i + 1}: a comment that no block follows")
        i += 1
    return found


def pattern(line):
    return re.compile(r"\s*" + ".*".join(re.escape(" ".join(part.split())).replace(r"\ ", r"\s+") for part in line.split("...")) + r"\s*")


def differs(expected, actual):
    """None if the output is the expected one, else what is missing or too much."""
    wanted = [line for line in expected.splitlines() if line.strip()]
    free = "..." in wanted
    lines = [line for line in actual.splitlines() if line.strip()]
    for line in wanted:
        if line == "...":
            continue
        match = next((found for found in lines if pattern(line).fullmatch(found)), None)
        if match is None:
            return f"expected: {line}\nnot in:\n{actual}"
        lines.remove(match)
    return None if free or not lines else "not expected:\n" + "\n".join(lines)


class Page:
    def __init__(self, path, folder):
        self.name, self.folder = os.path.relpath(path, SRC), folder
        self.blocks = blocks_of(read(path))
        os.makedirs(folder)
        shutil.copytree(os.path.join(SRC, "examples"), os.path.join(folder, "examples"))
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)
        os.symlink(BUILD, os.path.join(folder, "build"))
        self.output = None
        self.environment = {k: v for k, v in os.environ.items() if not re.match("SHMEM_|SMA_|OSH|MAKE|MFLAGS", k)}
        sycl = os.environ.get("ACPP_DIR", BUILD + "/acpp") + "/bin" # as in test/lib/sycl.sh
        self.environment.update(FULMAR=SRC, PATH=":".join([BUILD + "/src/tools", sycl, os.environ["PATH"]]), LC_ALL="C.UTF-8",
                                ACPP_APPDB_DIR=folder + "/jit", ACPP_DEBUG_LEVEL="1",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def missing(self, needs):
        """The first thing that the block needs and this machine lacks."""
        for need in needs.split():
            if need == "numpy":
                if not self.use_numpy():
                    return "NumPy"
                continue
            if need == "kernels":
                script = f". {SRC}/src/tools/llvm.sh && find_llvm"
                if subprocess.run(["sh", "-c", script], check=False, stdout=subprocess.DEVNULL).returncode:
                    return "LLVM with llvm-spirv"
            elif need == "cuda-kernels":
                empty = os.path.join(self.folder, "empty.cu")
                with open(empty, "w", encoding="utf-8"):
                    pass
                done = subprocess.run(["oshcc", "-c", empty, "-o", empty + ".o"], env=self.environment, text=True, check=False, capture_output=True)
                if "compiling kernels needs" in done.stderr:
                    return "nvcc, or clang with the target nvptx64,"
            elif need == "sycl":
                if not any(shutil.which(name, path=self.environment["PATH"]) for name in ("icpx", "acpp")):
                    return "a compiler of SYCL, icpx or acpp,"
            elif need == "mpi4py":
                if subprocess.run(["python3", "-c", "import mpi4py"], env=self.environment, check=False, capture_output=True).returncode:
                    return "mpi4py"
            elif need == "libpng":
                if subprocess.run(["pkg-config", "--exists", "libpng"], check=False).returncode:
                    return "libpng"
            elif not shutil.which(need):
                return need
        return None

    def use_numpy(self):
        """Let python3 be an interpreter with NumPy, and import the package of the source tree. False if there is none."""
        for python in ("python3", "/usr/bin/python3"):
            if shutil.which(python) and subprocess.run([python, "-c", "import numpy"], check=False, capture_output=True).returncode == 0:
                bin_folder = os.path.join(self.folder, ".bin")
                os.makedirs(bin_folder, exist_ok=True)
                with open(os.path.join(bin_folder, "python3"), "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as file:
                    file.write(f'#!/bin/sh\nexec {shutil.which(python)} "$@"\n')
                self.environment.update(PYTHONPATH=os.path.join(SRC, "python"), LD_LIBRARY_PATH=os.path.join(BUILD, ".libs"),
                                        PYTHONDONTWRITEBYTECODE="1")
                if not self.environment["PATH"].startswith(bin_folder):
                    self.environment["PATH"] = bin_folder + ":" + self.environment["PATH"]
                return True
        return False

    def run(self):
        for line, language, notes, text in self.blocks:
            self.block(f"{self.name}:{line}", language, notes, text)

    def block(self, where, language, notes, text):
        if "not run" in notes:
            self.output = None
            valid = next((r for r in REASONS if notes["not run"].startswith("needs " + r)), None)
            status = subprocess.run(["bash", "-n"], input=text, text=True, check=False, capture_output=True) if language == "sh" else None
            if not valid or (status and status.returncode):
                ok(False, f"{where} names one of: needs " + ", ".join(REASONS), status.stderr if status else "")
            else:
                skip(where, notes["not run"])
        elif language == "tree":
            gone = [name for name in re.findall(r"^[\w./]+/\S*", text, re.M) if not os.path.exists(os.path.join(SRC, name))]
            ok(not gone, f"{where} lists folders of the source tree", "\n".join(gone))
        elif "part of" in notes:
            whole = "\n".join(l.strip() for l in read(os.path.join(SRC, "examples", notes["part of"])).splitlines())
            part = "\n".join(l.strip() for l in text.splitlines())
            ok(part in whole, f"{where} is a part of {notes['part of']}")
        elif language == "sh":
            self.commands(where, notes, text)
        elif language == "text":
            if self.output is None:
                ok(False, f"{where} is output of the block before it")
            elif self.output is not False:
                wrong = differs(text, self.output)
                ok(wrong is None, f"{where} is the output of the block before it", wrong or "")
            self.output = None
        elif "file" in notes:
            path = os.path.join(self.folder, notes["file"])
            if os.path.exists(path):
                ok(read(path) == text, f"{where} quotes {notes['file']} exactly")
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
        else:
            ok(False, f"{where} has a language that this test knows, and a file name")

    def commands(self, where, notes, text):
        lacks = self.missing(notes.get("needs", ""))
        if lacks:
            self.output = False # also skips the output that follows
            skip(where, f"{lacks} is not installed")
            return
        script, wrapper = "set -eu -o pipefail\n" + text, []
        if "hosts" in notes:
            way = notes["hosts"].partition(", ")[2]
            for tool in ["hosts.sh"] + ["slurm.sh"] * (way == "Slurm"):
                why = subprocess.run([f"{SRC}/test/lib/{tool}", "can"], text=True, check=False, capture_output=True)
                if why.returncode:
                    self.output = False
                    skip(where, why.stdout.strip())
                    return
            wrapper = [f"{SRC}/test/lib/hosts.sh", "run", "bash", "-c", ON_HOSTS[way], f"{SRC}/test/lib"]
        try:
            done = subprocess.run(["timeout", "-k", "5", "150", *wrapper, "bash", "-c", script], cwd=self.folder, env=self.environment,
                                  text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
        except OSError as error:
            ok(False, where, str(error))
            return
        self.output = done.stdout
        wanted = int(notes.get("fails", "0"))
        first = next((l for l in text.splitlines() if l and not l.startswith("#")), "")
        ok(done.returncode == wanted, f"{where} {first[:80].replace('#', '')}",
           f"exit status {done.returncode}, expected {wanted}\n{done.stdout}")


# ---- names in the text --------------------------------------------------------------------------------------------


def known_names():
    """Variables, constants and routines of this library."""
    words = set()
    for path in (glob.glob(SRC + "/include/**/*.h", recursive=True) + glob.glob(SRC + "/src/device/lib/*.h") +
                 glob.glob(SRC + "/man/*.[0-9]") + glob.glob(SRC + "/man/*.in") +
                 [SRC + "/src/host/util/config.def", SRC + "/test/lint/symbols.txt", BUILD + "/man/links"]):
        words.update(re.findall(r"[A-Za-z_]\w*", read(path)))
    kernels = subprocess.run([*os.environ.get("CC", "cc").split(), "-E", "-P", "-D__OPENCL_C_VERSION__=200", "-I" + SRC + "/include",
                              "-I" + SRC + "/src", "-x", "c", "-"], input="#include <shmemg.h>\n#include <ishmemx.h>\n", text=True,
                             stdout=subprocess.PIPE, check=True).stdout
    return words | set(re.findall(r"\bi?shmem\w+", kernels))


def check_names(pages):
    words = known_names()
    manual = {tool: read(f"{SRC}/man/{tool}.1") for tool in ("oshrun", "oshcc", "oshinfo")}
    wrong = []
    for path in pages:
        porting = path.endswith("porting.md")
        for number, line in enumerate(read(path).split("\n"), 1):
            where = f"{os.path.relpath(path, SRC)}:{number}"
            if porting and line.startswith("|"):
                line = line.split("|")[-2]
            for name in re.findall(r"(?<![/$])\b(?:SHMEM[XG]?_[A-Z0-9_]+|p?shmem[xg]?_[a-z0-9_]+|ZE_CPU_[A-Z]+)\b(?![*.<])", line):
                if name not in words:
                    wrong.append(f"{where}: {name}")
            for tool, page in manual.items():
                command = re.search(rf"\b{tool} ([^`|;]*)", line)
                own = re.sub(r"\$\(.*\)| gdb .*", "", command[1]) if command else ""
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", own):
                    if not re.search(rf"(?<![\w-]){option}(?![\w-])", page):
                        wrong.append(f"{where}: {tool} {option}")
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
                if not os.path.exists(os.path.join(os.path.dirname(path), target)) and not target.endswith((".svg", ".png")):
                    wrong.append(f"{where}: {target}")
    ok(not wrong, "variables, routines, options and files that the guide names exist", "\n".join(wrong))


def check_html(work):
    """make html: every page, and no link to a file that is not there."""
    if not shutil.which("pandoc") and not shutil.which("cmark-gfm"):
        skip("the guide as web pages", "neither pandoc nor cmark-gfm is installed")
        return
    out = os.path.join(work, "html")
    done = subprocess.run([SRC + "/doc/html", SRC + "/doc", out], env=dict(os.environ, PATH=BUILD + "/src/tools:" + os.environ["PATH"]),
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    missing = set(re.findall(r"no (\S+):", done.stdout)) # pictures that this machine cannot make
    pages, lost = glob.glob(out + "/*.html"), []
    for page in pages:
        for link in re.findall(r'(?:href|src)="([^"#:]+)[^":]*"', read(page)):
            if not os.path.exists(os.path.join(out, link)) and link not in missing:
                lost.append(f"{page}: {link}")
    ok(done.returncode == 0 and len(pages) == len(glob.glob(SRC + "/doc/*.md")) and not lost, "the guide as web pages",
       done.stdout + "\n".join(lost))


def main():
    pages = sorted(glob.glob(SRC + "/doc/*.md"))
    only = os.environ.get("GUIDE", "")
    with tempfile.TemporaryDirectory(dir=BUILD) as work: # fake hosts do not see /tmp
        for path in [SRC + "/README.md"] + pages:
            if only in path:
                Page(path, os.path.join(work, os.path.relpath(path, SRC).replace("/", "_"))).run()
        check_html(work)
    check_names(pages)
    print(f"1..{tests}")


main()
