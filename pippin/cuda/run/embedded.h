// The kernels in this program, as one or two nvccs compiled them for several kinds of GPUs.
#pragma once

#include <cstddef>
#include <span>

namespace pippin::cuda {

// Fatbins, for cuLibraryLoadData(): the one of the newest nvcc first. Empty in a program that was
// built without nvcc.
using KernelImage = std::span<const std::byte>;
std::span<const KernelImage> embedded_kernels();

}  // namespace pippin::cuda
