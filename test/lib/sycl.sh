# sycl.sh - AdaptiveCpp, the compiler of SYCL for tests: in ACPP_DIR, in the build folder (./check unpacks it there), or in PATH. Source it.

# find_sycl DIR: prepare oshc++ --sycl and the programs' runtime, which keeps compiled kernels in DIR. 1: $no_sycl says what is missing.
find_sycl() {
    PATH=${ACPP_DIR:-$top_builddir/acpp}/bin:$PATH
    no_sycl="acpp (AdaptiveCpp) compiles SYCL; it is not installed"
    command -v acpp > /dev/null || return 1
    no_sycl="this build has no device backend (libze-dev)"
    [ -f "$top_builddir/.libs/libze_cpu.so" ] || return 1
    export OSHCC_SYCL="acpp --acpp-targets=generic" ACPP_APPDB_DIR=$1
}
