# package.py - Spack builds Fulmar from the git repository that this file is in:
#
#   spack repo add pkg/spack/spack_repo/fulmar && spack install fulmar
#
# For kernels, oshcc also needs clang, opt and llvm-spirv in PATH.
from pathlib import Path

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Fulmar(AutotoolsPackage):
    """OpenSHMEM 1.6 for CPUs and GPUs."""

    git = str(Path(__file__).resolve().parents[6])

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake@1.16:", type="build")
    depends_on("libtool@2.4:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2.0:")
    depends_on("libfabric@1.7:")
    depends_on("oneapi-level-zero")
    depends_on("pmix@3.1:")

    # oshcc calls the compiler itself; Spack's wrapper works only inside a build of Spack's.
    filter_compiler_wrappers("oshcc", "oshc++", relative_root="bin")
