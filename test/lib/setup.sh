# setup.sh - functions that ./start and ./check share: install packages; configure and build a folder.
. ./src/tools/llvm.sh

# Install missing packages: those that every build needs and the named ones, with apt_options if set; "kernels", at the
# end, stands for the newest LLVM that has a translator, and may be missing. Without root or apt, print their names and fail.
need_packages() {
    missing=
    for p in gcc g++ make autoconf automake libtool pkg-config libpmix-dev libhwloc-dev libze-dev libfabric-dev python3 "$@"; do
        have "$p" || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    can_install=no
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        can_install=yes
        apt-get update -qq > /dev/null 2>&1 || true
    fi
    if [ "$missing" != "${missing% kernels}" ]; then
        llvm=$(llvm_packages)
        missing=${missing% kernels}${llvm:+ $llvm}
        [ "$llvm" ] || echo "no kernels: $(llvm_missing)" >&2
        [ "$missing" ] || return 0
    fi
    if [ $can_install = yes ]; then
        echo "== installing$missing"
        # shellcheck disable=SC2086
        if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ${apt_options:-} $missing > /dev/null; then
            return 0
        fi
    fi
    echo "missing packages; as root: apt-get install$missing" >&2
    return 1
}

# Is the program or library of a package installed, from any source?
have() {
    case $1 in
    gcc | g++ | make | autoconf | automake | pkg-config | clang | python3 | spin | cmake | gdb | fish | lintian | rpmlint | zsh)
        command -v "$1" > /dev/null
        ;;
    dpkg-dev) command -v dpkg-buildpackage > /dev/null ;;
    debhelper) command -v dh > /dev/null ;;
    kernels) find_llvm ;;
    libpng-dev) pkg-config --exists libpng 2> /dev/null ;;
    openmpi-bin) command -v mpirun > /dev/null ;;
    libopenmpi-dev) command -v mpicc > /dev/null ;;
    iproute2) command -v ip > /dev/null ;;
    slurmctld | slurmd) command -v $1 > /dev/null || [ -x "/usr/sbin/$1" ] ;;
    slurm-client) command -v srun > /dev/null ;;
    munge) command -v munged > /dev/null || [ -x /usr/sbin/munged ] ;;
    environment-modules) [ -d /usr/share/modules ] || [ -d /usr/share/lmod ] ;;
    rpm) command -v rpmspec > /dev/null ;;
    libtool) command -v libtoolize > /dev/null ;;
    libpmix-dev) pkg-config --exists pmix 2> /dev/null ;;
    libhwloc-dev) pkg-config --exists hwloc 2> /dev/null ;;
    libze-dev) pkg-config --exists libze_loader 2> /dev/null ;;
    *) dpkg -s "$1" > /dev/null 2>&1 ;;
    esac
}

# Configure (once for the same arguments) and build in a folder of the source tree; print make's output only if it
# fails.
build() { # folder, arguments of configure
    dir=$1
    shift
    [ configure -nt configure.ac ] && [ configure -nt Makefile.am ] || autoreconf -i > /dev/null 2>&1 || autoreconf -i
    mkdir -p "$dir"
    if [ ! -f "$dir/Makefile" ] || [ "$(cat "$dir/.configured" 2> /dev/null)" != "$*" ]; then
        echo "== configuring $dir"
        (cd "$dir" && ../configure -q "$@" && echo "$*" > .configured) || return 1
    fi
    echo "== building $dir"
    make -C "$dir" -j"$(nproc)" > "$dir/build.log" 2>&1 || {
        tail -40 "$dir/build.log"
        return 1
    }
}
