# Toolchain file: the base and the kernels for AArch64, tested under QEMU's user mode, which does not show their speed.
# With Debian's g++-aarch64-linux-gnu, qemu-user and googletest:
#
#   cmake -G Ninja -S . -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake \
#     -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPIPPIN_WERROR=ON
#   cmake --build build/aarch64 && ctest --test-dir build/aarch64 --output-on-failure
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_NM aarch64-linux-gnu-nm)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
