# Compiles and links with the sysroot that sysroot.sh makes; a copy lies in it. The headers and libraries of this machine
# are not looked at, except for those of the compiler itself.
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
# Their folders are /usr's, which pkg-config leaves out: the compiler and find_library() look into the sysroot's. With
# PKG_CONFIG_SYSROOT_DIR it would print them, cut at spaces.
set(ENV{PKG_CONFIG_LIBDIR} ${library_dir}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
# The same bytes wherever the folder lies: headers and sources are named in them.
cmake_path(GET CMAKE_SYSROOT PARENT_PATH around)
set(CMAKE_C_FLAGS_INIT "\"-ffile-prefix-map=${around}=.\"")
set(CMAKE_CXX_FLAGS_INIT "\"-ffile-prefix-map=${around}=.\"")
# -B: GCC looks for crt1.o and libc.so next to itself first, which are this machine's.
set(CMAKE_EXE_LINKER_FLAGS_INIT "\"-B${library_dir}\" -static-libstdc++ -static-libgcc")
# libzip needs them, which its file for pkg-config says for static libraries only.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lbz2 -llzma -lz")
