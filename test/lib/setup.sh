# setup.sh - functions that ./start and ./check share: install packages; configure and build a folder.
. ./src/tools/llvm.sh

# Run a command; meanwhile say how far it is and how long it has run: each second on a terminal, else every 20 s. FUNCTION reads the
# command's output and prints how far it is.
with_progress() { # what, file for the output, function, command
    doing=$1 output=$2 how_far=$3 begin=$(date +%s) said=0
    shift 3
    : > "$output"
    "$@" > "$output" 2>&1 &
    child=$!
    trap 'kill $child 2> /dev/null; exit 130' INT TERM
    while kill -0 $child 2> /dev/null; do
        sleep 1
        seconds=$(($(date +%s) - begin))
        if [ -t 1 ]; then
            printf '\r== %s: %s, %s s\033[K' "$doing" "$($how_far < "$output")" $seconds
        elif [ $((seconds - said)) -ge 20 ]; then
            said=$seconds
            echo "== $doing: $($how_far < "$output"), $seconds s"
        fi
    done
    wait $child && ended=0 || ended=$?
    trap - INT TERM
    [ ! -t 1 ] || printf '\r\033[K'
    echo "== $doing: $($how_far < "$output"), $(($(date +%s) - begin)) s"
    return $ended
}

apt_packages() {
    awk -v all="$packages" '/^Get:/ { got++ } /^Unpacking / { unpacked++ } /^Setting up / { up++ } { last = $0 }
        END { if (last ~ /^Waiting for cache lock/) printf "waiting for another apt"
              else printf "%d downloaded, %d unpacked, %d set up of %d packages", got, unpacked, up, all }'
}

# apt-get, which waits 10 minutes for another apt that holds the lock.
apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@"
}

# Install missing packages: those that every build needs and the named ones, without recommended ones or with apt_options; "kernels",
# at the end, stands for the newest LLVM that has a translator, and may be missing. Without root or apt, print their names and fail.
need_packages() {
    missing=
    for p in gcc g++ make autoconf automake libtool pkg-config libpmix-dev libhwloc-dev libfabric-dev python3 "$@"; do
        have "$p" || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    can_install=no
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        can_install=yes
        apt_log=$(mktemp)
        packages=0
        with_progress "reading the lists of packages" "$apt_log" apt_lists apt update || tail -3 "$apt_log" >&2
    fi
    if [ "$missing" != "${missing% kernels}" ]; then
        llvm=$(llvm_packages)
        missing=${missing% kernels}${llvm:+ $llvm}
        [ "$llvm" ] || echo "no kernels: $(llvm_missing)" >&2
        [ "$missing" ] || return 0
    fi
    if [ $can_install = yes ]; then
        echo "== missing:$missing"
        # shellcheck disable=SC2086
        packages=$(apt install -s ${apt_options:---no-install-recommends} $missing 2> /dev/null | grep -c '^Inst ' || true)
        # shellcheck disable=SC2086
        if with_progress installing "$apt_log" apt_packages apt install -y ${apt_options:---no-install-recommends} $missing; then
            rm -f "$apt_log"
            return 0
        fi
        grep -E '^(E|W|dpkg): ' "$apt_log" | tail -5 >&2
    fi
    echo "missing packages; as root: apt-get install$missing" >&2
    return 1
}

apt_lists() {
    awk '/^(Get|Hit):/ { n++ } { last = $0 } END { if (last ~ /^Waiting for cache lock/) printf "waiting for another apt"
         else printf "%d lists", n }'
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

# Configure a folder of the source tree, once for the same arguments.
configured() { # folder, arguments of configure
    dir=$1
    shift
    [ configure -nt configure.ac ] && [ configure -nt Makefile.am ] || autoreconf -i > /dev/null 2>&1 || autoreconf -i
    mkdir -p "$dir"
    if [ ! -f "$dir/Makefile" ] || [ "$(cat "$dir/.configured" 2> /dev/null)" != "$*" ]; then
        echo "== configuring $dir"
        (cd "$dir" && ../configure -q "$@" && echo "$*" > .configured)
    fi
}

# Configure and build in a folder; print make's output only if it fails.
build() { # folder, arguments of configure
    configured "$@" || return 1
    steps=$(make -C "$dir" -n V=0 2> /dev/null | grep -cE 'echo "  (CC|CXX|CCLD|GEN) ' || true)
    with_progress "building $dir" "$dir/build.log" built_files make -C "$dir" -j"$(nproc)" V=0 || {
        tail -40 "$dir/build.log"
        return 1
    }
}

built_files() {
    printf '%s of %s files' "$(grep -cE '^  (CC|CXX|CCLD|GEN) ')" "$steps"
}
