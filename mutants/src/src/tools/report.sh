# report.sh - what a report of an error should contain: versions, devices, networks, limits, variables. oshinfo --report runs it,
# with the path of oshinfo as its argument.
#
# It prints variables of known prefixes only; names of the host, the user and the home folder are replaced.
set -u
LC_ALL=C
export LC_ALL
oshinfo=$1
bin=$(dirname "$oshinfo")

# Variables that look like a key are unset, so that no program prints their values. A value looks like one with a word of 20
# characters and more that has letters and digits and is not a path, user:password@ in a URL, Bearer, PEM.
prefixes='^(SHMEM|SMA|FI|ZE|ZES|ZE_CPU|CUDA|OSHCC|OMP|UCX|HWLOC|OMPI_MCA|PRTE_MCA)_[A-Za-z0-9_]*=|^LD_LIBRARY_PATH='
held=$(env | grep -E "$prefixes" | awk '
    function looks_secret(value, n, word, i) {
        if (value ~ /:\/\/[^\/ ]*@|[Bb]earer |BEGIN .*PRIVATE/)
            return 1
        n = split(value, word, /[ ,:;=\/]/)
        for (i = 1; i <= n; i++)
            if (length(word[i]) >= 20 && word[i] ~ /^[A-Za-z0-9+_.-]+$/ && word[i] ~ /[0-9]/ && word[i] ~ /[A-Za-z]/)
                return 1
        return 0
    }
    {
        name = $0
        sub(/=.*/, "", name)
        if (toupper(name) ~ /KEY|TOKEN|SECRET|PASS|AUTH|CRED|COOKIE|SIGNATURE|LICENSE/ || looks_secret(substr($0, length(name) + 2)))
            print name
    }' | sort)
for name in $held; do
    unset "$name"
done

part() { printf '\n== %s\n' "$1"; }
first_line_of() { # PROGRAM ARGUMENTS...: its first line, or nothing where it is not installed
    command -v "$1" >/dev/null 2>&1 && printf '%-14s %s\n' "$1" "$("$@" 2>&1 </dev/null | grep -m 1 '[0-9]')"
}

collect() {
    printf '== Fulmar\n'
    "$oshinfo" 2>&1 | sed '/^Environment/,$d'
    part "system"
    uname -srm
    sed -n 's/^PRETTY_NAME=/distribution /p' /etc/os-release 2>/dev/null | tr -d '"'
    grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: /processor    /'
    printf 'CPUs         %s for this process, %s online\n' "$(nproc 2>/dev/null)" "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
    grep -E '^(MemTotal|MemAvailable|Shmem|HugePages_Total|Hugepagesize):' /proc/meminfo
    printf 'huge pages of shared memory: %s\n' "$(cat /sys/kernel/mm/transparent_hugepage/shmem_enabled 2>/dev/null)"
    printf 'ptrace_scope %s\n' "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null)"
    [ ! -e /.dockerenv ] && [ ! -e /run/.containerenv ] && [ ! -d /.singularity.d ] || echo "inside a container"
    part "limits"
    for limit in c d l n u v; do
        printf 'ulimit -%s %s\n' $limit "$(ulimit -$limit 2>/dev/null)"
    done
    df -h /dev/shm /tmp 2>/dev/null | awk '{ print $2, $4, $NF }'
    part "tools"
    for tool in "$bin/oshcc" "$bin/../oshcc"; do # of the installation, of the build tree
        [ ! -x "$tool" ] || printf 'oshcc          %s\n' "$("$tool" -show x.c 2>&1 | head -1)"
    done
    first_line_of cc --version
    first_line_of gcc --version
    first_line_of clang --version
    first_line_of llvm-spirv --version
    first_line_of nvcc --version
    first_line_of nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    first_line_of mpirun --version
    first_line_of srun --version
    first_line_of prterun --version
    first_line_of python3 --version
    part "libraries"
    ldd "$oshinfo" 2>/dev/null | awk '{ print $1, $3 }' | grep -E 'fulmar|pmix|hwloc|libc\.'
    for package in pmix libfabric hwloc libze_loader; do
        version=$(pkg-config --modversion $package 2>/dev/null) && echo "$package $version"
    done
    part "launcher"
    env | sed -n 's/^\(PMIX_VERSION\|PMIX_RANK\|SLURM_MPI_TYPE\|SLURM_NNODES\|SLURM_NTASKS\|SLURM_VERSION\|PRTE_VERSION\)=/\1=/p'
    part "variables"
    {
        printf '%s\n' $held | sed '/./s/$/=(set, not printed: it may be a key)/'
        env | grep -E "$prefixes"
    } | grep . | sort
}

# Replace words, longest first: paths of the home folder, the names of user and host.
user=$(id -un 2>/dev/null || echo -)
host=$(uname -n)
collect | awk -v home="${HOME:-}" -v user="$user" -v host="$host" '
    function replace(word, by, rest, out, at, before, after) {
        if (length(word) < 2)
            return
        rest = $0; out = ""
        while (at = index(rest, word)) {
            before = at > 1 ? substr(rest, at - 1, 1) : " "
            after = substr(rest, at + length(word), 1)
            out = out substr(rest, 1, at - 1) (before ~ /[A-Za-z0-9_]/ || after ~ /[A-Za-z0-9_]/ ? word : by)
            rest = substr(rest, at + length(word))
        }
        $0 = out rest
    }
    {
        if (home != "/")
            replace(home, "~")
        if (user != "root")
            replace(user, "USER")
        replace(host, "HOST")
        print
    }'
