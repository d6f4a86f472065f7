# A user's project of Intel SHMEM's documentation, with an installed Fulmar (install.sh).
cmake_minimum_required(VERSION 3.17)
project(user CXX)
set(VERSION 1.5.1 CACHE STRING "of the API")
find_package(ISHMEM ${VERSION} REQUIRED)
add_executable(ishmem_example ${EXAMPLE})
target_link_libraries(ishmem_example PRIVATE ${BEFORE} ISHMEM::ISHMEM)

enable_testing()
add_test(NAME ishmem_example COMMAND ${Fulmar_OSHRUN} -n 3 $<TARGET_FILE:ishmem_example>)
set_tests_properties(ishmem_example PROPERTIES PASS_REGULAR_EXPRESSION "PE 2 of 3: 10")
if(ACPP_LAUNCHER) # the compiler is not acpp, but AdaptiveCpp's launcher calls it
  find_package(AdaptiveCpp REQUIRED)
  add_sycl_to_target(TARGET ishmem_example SOURCES ${EXAMPLE})
endif()
