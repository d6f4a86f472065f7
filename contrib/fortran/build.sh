#!/bin/sh
# build.sh - build the Fortran routines of OpenSHMEM 1.4 over Fulmar, and oshfort, in FOLDER.
#
#   contrib/fortran/build.sh FOLDER
#   FOLDER/bin/oshfort   compiles and links: oshfort -O2 program.f90 -o program
#   oshcc                is found in PATH
#   FC                   the Fortran compiler; default: gfortran. oshfort reads it, too
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
for tool in oshcc "${FC:-gfortran}"; do
    command -v "${tool%% *}" > /dev/null || { echo "build.sh: $tool is not in PATH" >&2; exit 1; }
done
mkdir -p "$1/bin" "$1/include/mpp" "$1/lib"
folder=$(cd "$1" && pwd)
cp "$here/shmem.fh" "$folder/include"
cp "$here/mpp/shmem.fh" "$folder/include/mpp"
oshcc -O2 -Wall -Wextra -c "$here/shmem_fortran.c" -o "$folder/lib/shmem_fortran.o"
ar rcs "$folder/lib/libshmem_fortran.a" "$folder/lib/shmem_fortran.o"
cat > "$folder/bin/oshfort" << END
#!/bin/sh
# oshfort - \$FC or ${FC:-gfortran} for OpenSHMEM programs; options and files are the compiler's.
for arg; do
    case \$arg in -c | -S | -E | -fsyntax-only) exec \${FC:-${FC:-gfortran}} "-I$folder/include" "\$@" ;; esac
done
exec \${FC:-${FC:-gfortran}} "-I$folder/include" "\$@" "-L$folder/lib" -lshmem_fortran $(oshcc --showme:link)
END
chmod +x "$folder/bin/oshfort"
echo "$folder/bin/oshfort"
