// The kernels in this program, as nvcc compiled them for several kinds of GPUs.
#pragma once

#include <cstddef>
#include <span>

namespace pippin::cuda {

// A fatbin, for cuLibraryLoadData(); empty in a program that was built without nvcc.
std::span<const std::byte> embedded_kernels();

}  // namespace pippin::cuda
