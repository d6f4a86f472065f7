# ISHMEMConfig.cmake - find_package(ISHMEM) as with Intel SHMEM; defines:
#
#   ISHMEM::ISHMEM       link with it: C++ programs on ishmem.h; options for SYCL, if the C++ compiler is one of SYCL
#   ISHMEM_ROOT, ISHMEM_INCLUDE, ISHMEM_LIBRARY_DIR, ISHMEM_LIBRARY, ISHMEM_FLAGS, ISHMEM_LINK_FLAGS    its parts
#   what find_package(Fulmar) defines
#
# Compilers of SYCL: icpx and clang++ of DPC++, and acpp (AdaptiveCpp) as CMAKE_CXX_COMPILER. With AdaptiveCpp's add_sycl_to_target the compiler is another
# one, and that function adds the options. With any other compiler, programs can use ishmem.h on the host.
include("${CMAKE_CURRENT_LIST_DIR}/../Fulmar/FulmarConfig.cmake")
if(NOT TARGET Fulmar::fulmar)
  set(ISHMEM_FOUND FALSE)
  set(ISHMEM_NOT_FOUND_MESSAGE "${Fulmar_NOT_FOUND_MESSAGE}")
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_LOADED)
  set(ISHMEM_FOUND FALSE)
  set(ISHMEM_NOT_FOUND_MESSAGE "ISHMEM is for C++: the project has no language CXX before find_package(ISHMEM)")
  return()
endif()
get_filename_component(ISHMEM_ROOT "${_fulmar_bin}/.." ABSOLUTE)
set(ISHMEM_INCLUDE "${_fulmar_include}" "${_fulmar_include}/fulmar")
set(ISHMEM_LIBRARY_DIR "${_fulmar_lib}")
set(ISHMEM_LIBRARY "${_fulmar_lib}/libfulmar.so")

get_filename_component(_ishmem_compiler "${CMAKE_CXX_COMPILER}" NAME)
if(_ishmem_compiler MATCHES "^(acpp|syclcc)")
  set(ISHMEM_FLAGS --acpp-targets=generic)
else()
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsycl)
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("#include <sycl/sycl.hpp>\nint main() { return 0; }" ISHMEM_CXX_HAS_FSYCL)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_QUIET)
  set(ISHMEM_FLAGS)
  if(ISHMEM_CXX_HAS_FSYCL)
    set(ISHMEM_FLAGS -fsycl)
  endif()
endif()
set(ISHMEM_LINK_FLAGS ${ISHMEM_FLAGS})

# The program's libraries behind it, such as ze_loader: AdaptiveCpp's runtime has to find the library's zeModuleCreate first.
set(_ishmem_first "SHELL:-Wl,--push-state,--no-as-needed \"${ISHMEM_LIBRARY}\" -Wl,--pop-state")

if(NOT TARGET ISHMEM::ISHMEM)
  add_library(ISHMEM::ISHMEM INTERFACE IMPORTED)
  set_target_properties(ISHMEM::ISHMEM PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${ISHMEM_INCLUDE}"
    INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:${ISHMEM_FLAGS}>"
    INTERFACE_LINK_OPTIONS "${ISHMEM_LINK_FLAGS};${_ishmem_first}"
    INTERFACE_LINK_LIBRARIES Fulmar::fulmar)
endif()
