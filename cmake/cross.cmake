# A cross build checks the folders that depend on instruction sets, base and kernels. Libraries for other machines are
# rarely installed, so fmt is used header-only, and googletest is built from its sources.
set(PIPPIN_FMT_HEADERS /usr/include/fmt CACHE PATH "The headers of fmt")
set(PIPPIN_GOOGLETEST /usr/src/googletest CACHE PATH "The sources of googletest")

find_package(Threads REQUIRED)
# In a separate folder, because the host's other headers are not for this machine.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${PIPPIN_FMT_HEADERS} ${CMAKE_BINARY_DIR}/include/fmt SYMBOLIC)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${CMAKE_BINARY_DIR}/include)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

if(PIPPIN_TESTS)
  enable_testing()
  add_subdirectory(${PIPPIN_GOOGLETEST} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()

add_subdirectory(pippin/base)
add_subdirectory(pippin/kernels)
