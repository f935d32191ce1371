# A cross build checks the folders that know of instruction sets, base and kernels. Other machines'
# libraries are rarely installed: fmt is used by its headers, googletest built from its sources.
set(PIPPIN_FMT_HEADERS /usr/include/fmt CACHE PATH "The headers of fmt")
set(PIPPIN_GOOGLETEST /usr/src/googletest CACHE PATH "The sources of googletest")

find_package(Threads REQUIRED)
# In a folder of their own: the host's other headers are not for this machine.
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
