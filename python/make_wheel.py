"""make_wheel.py - make the wheel from an installation: python3 make_wheel.py PREFIX VERSION OUTPUT, by "make wheel".

The wheel contains the package, the installation (fulmar/prefix), and in fulmar.libs the libraries that it needs and that manylinux
does not count as present everywhere: as auditwheel does it, under names with a hash, found by relative paths. libfabric, which the library
opens when it needs it, is the system's: it has to fit the machine's network. The package is pure Python, so one wheel serves
all versions of Python. Requires patchelf, cc, and Python's package wheel.
"""
import glob
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import elf

HERE = os.path.dirname(os.path.abspath(__file__))
GLIBC = (2, 34)
PRESENT = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so\.\d+|ld-linux-.*")  # on every system with this glibc
OLDER = {"hypot", "hypotf"}  # symbols with a newer version that older versions of glibc have, too
POLYFILL = {"arc4random", "arc4random_buf"}  # and those that they do not have
# Plugins of another build would be loaded: paths that are built into a library lead nowhere.
PLUGINS = {"libpmix": "/usr/lib/x86_64-linux-gnu/pmix2", "libhwloc": "/usr/lib/x86_64-linux-gnu/hwloc"}
LEFT_OUT = ("*.a", "*.la", "pkgconfig", "cmake", "modulefiles", "bash-completion", "fish", "zsh", "man", "doc", "libsma.so")


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def copy_installation(prefix, to):
    """Copy files, not links, which a wheel cannot have: of links to a library, the one with the name that programs load."""
    shutil.copytree(prefix, to, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    lib = os.path.join(to, "lib")
    soname = run("patchelf", "--print-soname", os.path.join(lib, "libfulmar.so")).strip()
    real = os.path.realpath(os.path.join(lib, "libfulmar.so"))
    for link in glob.glob(os.path.join(lib, "*")):
        if os.path.islink(link):
            os.unlink(link)
    os.rename(real, os.path.join(lib, soname))
    with open(os.path.join(lib, "libfulmar.so"), "w") as script:  # for the linker
        script.write(f"INPUT({soname})\n")


def walk(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]


def needed(path):
    return run("patchelf", "--print-needed", path).split()


def resolve(path):
    """Where the loader finds the libraries of this file: name -> path."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", path), re.M))


def bundle(files, libs):
    """Copy all libraries that the files need to libs, and let the files and the copies find them there."""
    sources, new_names, todo = {}, {}, list(files)
    while todo:
        for name, path in resolve(todo.pop()).items():
            if not PRESENT.fullmatch(name) and name not in sources and os.path.basename(path) not in own_names(files):
                sources[name] = os.path.realpath(path)
                todo.append(path)
    os.makedirs(libs)
    for name, path in sources.items():
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()[:8]
        stem, _, rest = name.partition(".so")
        new_names[name] = f"{stem}-{digest}.so{rest}"
        shutil.copy2(path, os.path.join(libs, new_names[name]))
        os.chmod(os.path.join(libs, new_names[name]), 0o755)
    for name, new in new_names.items():
        path = os.path.join(libs, new)
        leave_plugins(path, name)
        rename_needed(path, new_names, "$ORIGIN")
        run("patchelf", "--set-soname", new, path)
    for path in files:
        here = os.path.relpath(libs, os.path.dirname(path))
        own = [p for p in run("patchelf", "--print-rpath", path).strip().split(":") if p.startswith("$ORIGIN")]
        beside = {os.path.relpath(os.path.dirname(other), os.path.dirname(path)) for other in files if os.path.basename(other) in needed(path)}
        folders = [*own, *(f"$ORIGIN/{folder}" for folder in sorted(beside)), f"$ORIGIN/{here}"]
        rename_needed(path, new_names, ":".join(dict.fromkeys(folders)))
    return sources


def own_names(files):
    return {os.path.basename(path) for path in files}


def leave_plugins(path, name):
    for stem, text in PLUGINS.items():
        if name.startswith(stem + "."):
            file = elf.File(path)
            file.replace(text, "/nonexistent".ljust(len(text), "_"))
            file.save()


def rename_needed(path, names, rpath):
    run("patchelf", "--set-rpath", rpath, path)
    for name in needed(path):
        if name in names:  # patchelf makes one change a call
            run("patchelf", "--replace-needed", name, names[name], path)


def fit_glibc(files, libs):
    """Let no file need a symbol that is newer than GLIBC."""
    polyfill = os.path.join(libs, "libfulmar_polyfill.so")
    for path in files:
        file = elf.File(path)
        names = set(file.drop_versions(GLIBC))
        if names - OLDER - POLYFILL:
            raise SystemExit(f"{path} needs symbols newer than glibc {GLIBC}: {sorted(names - OLDER - POLYFILL)}")
        file.save()
        if names & POLYFILL:
            if not os.path.exists(polyfill):
                run(os.environ.get("CC", "cc").split()[-1], "-shared", "-fPIC", "-O2", "-Wl,-soname,libfulmar_polyfill.so",
                    os.path.join(HERE, "polyfill.c"), "-o", polyfill)
            run("patchelf", "--add-needed", os.path.basename(polyfill), path)


def check(files, libs):
    """auditwheel's rules: each library is in the wheel or present everywhere, and no symbol is newer than the policy."""
    inside = own_names(walk(libs)) | own_names(files)
    for path in [*files, *walk(libs)]:
        wrong = [n for n in needed(path) if not PRESENT.fullmatch(n) and n not in inside]
        wrong += [v for _, v in elf.File(path).versions() if elf.is_newer(v, GLIBC)]
        if wrong:
            raise SystemExit(f"{path} needs {wrong}")


def licences(sources, folder):
    """The licences of the libraries, as the distribution has them."""
    os.makedirs(folder, exist_ok=True)
    for path in sources.values():
        owner = run("dpkg", "-S", path).split(":")[0] if shutil.which("dpkg") else ""
        text = f"/usr/share/doc/{owner}/copyright"
        if not os.path.exists(text):
            raise SystemExit(f"{path}: no licence is found, which the wheel needs")
        shutil.copy(text, os.path.join(folder, owner))
        with open(text, encoding="utf-8") as file:
            for common in re.findall(r"/usr/share/common-licenses/[\w.-]*\w", file.read()):
                shutil.copy(common, folder)


def metadata(folder, version, tag):
    with open(os.path.join(folder, "WHEEL"), "w") as file:
        file.write(f"Wheel-Version: 1.0\nGenerator: fulmar\nRoot-Is-Purelib: false\nTag: {tag}\n")
    with open(os.path.join(folder, "METADATA"), "w") as file:
        file.write(f"Metadata-Version: 2.1\nName: fulmar\nVersion: {version}\nSummary: OpenSHMEM for CPUs and GPUs\n"
                   "Requires-Python: >=3.8\nRequires-Dist: numpy\n")
    with open(os.path.join(folder, "entry_points.txt"), "w") as file:
        file.write("[console_scripts]\n" + "".join(f"{n} = fulmar_tools:main\n" for n in ("oshrun", "oshcc", "oshc++", "oshinfo")))


def main(prefix, version, output):
    machine = platform.machine()
    tag = f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{machine}"
    with tempfile.TemporaryDirectory() as work:
        root, libs = os.path.join(work, "wheel"), os.path.join(work, "wheel", "fulmar.libs")
        info = os.path.join(root, f"fulmar-{version}.dist-info")
        shutil.copytree(os.path.join(HERE, "fulmar"), os.path.join(root, "fulmar"), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(os.path.join(HERE, "fulmar_tools.py"), root)
        copy_installation(prefix, os.path.join(root, "fulmar", "prefix"))
        files = [path for path in walk(root) if elf.is_elf(path)]
        sources = bundle(files, libs)
        fit_glibc([*files, *walk(libs)], libs)
        check(files, libs)
        licences(sources, os.path.join(info, "licenses"))
        shutil.copy(os.path.join(HERE, "..", "LICENSE"), info)
        metadata(info, version, tag)
        os.makedirs(output, exist_ok=True)
        print(run(sys.executable, "-m", "wheel", "pack", root, "-d", output), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
