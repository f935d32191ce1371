# Compiles and links with the sysroot that sysroot.sh builds, which contains a copy of this file. Headers and libraries
# of this machine are ignored, except for the compiler's own.
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR})
set(CMAKE_C_COMPILER gcc-12)
set(CMAKE_CXX_COMPILER g++-12)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind INCLUDE LIBRARY PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_LIBRARY_ARCHITECTURE @triplet@)
set(library_dir ${CMAKE_SYSROOT}/usr/lib/@triplet@)
# pkg-config omits the folders in /usr; the compiler and find_library() search those of the sysroot. With
# PKG_CONFIG_SYSROOT_DIR, pkg-config would print them, split at spaces.
set(ENV{PKG_CONFIG_LIBDIR} ${library_dir}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
# Makes the output independent of the folder's location, because it contains names of headers and sources.
cmake_path(GET CMAKE_SYSROOT PARENT_PATH around)
set(CMAKE_C_FLAGS_INIT "\"-ffile-prefix-map=${around}=.\"")
set(CMAKE_CXX_FLAGS_INIT "\"-ffile-prefix-map=${around}=.\"")
# -B: GCC first searches its own folders, which have this machine's crt1.o and libc.so.
set(CMAKE_EXE_LINKER_FLAGS_INIT "\"-B${library_dir}\" -static-libstdc++ -static-libgcc")
# libzip needs these; its pkg-config file lists them only for static libraries.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lbz2 -llzma -lz")
