// A launch of a kernel as data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace pippin::cuda {

enum class Kernel : uint16_t {
#define PIPPIN_CUDA_KERNEL(name, args, threads) name,
#include "pippin/cuda/kernels/kernels.inc"
#undef PIPPIN_CUDA_KERNEL
  Count,
};
constexpr size_t kNumKernels = static_cast<size_t>(Kernel::Count);

std::string_view kernel_name(Kernel kernel);
size_t argument_bytes(Kernel kernel);
unsigned most_threads(Kernel kernel);

// The grid's y is left for lanes: launches of several lanes that differ in their arguments alone
// become one.
struct Launch {
  static constexpr size_t kMostBytes = 512;

  Kernel kernel{};
  unsigned blocks = 1, depth = 1;  // the grid's x and z
  unsigned threads = 32;
  unsigned shared_bytes = 0;
  alignas(16) std::array<std::byte, kMostBytes> arguments;  // the first argument_bytes(kernel)

  template <typename Arguments>
  static Launch of(Kernel kernel, const Arguments& arguments, int64_t blocks, unsigned threads,
                   size_t shared_bytes = 0, int64_t depth = 1) {
    static_assert(std::is_trivially_copyable_v<Arguments> && sizeof(Arguments) <= kMostBytes);
    Launch launch;
    launch.kernel = kernel;
    launch.blocks = static_cast<unsigned>(blocks);
    launch.depth = static_cast<unsigned>(depth);
    launch.threads = threads;
    launch.shared_bytes = static_cast<unsigned>(shared_bytes);
    std::memcpy(launch.arguments.data(), &arguments, sizeof(arguments));
    return launch;
  }
  bool same_grid(const Launch& other) const {
    return kernel == other.kernel && blocks == other.blocks && depth == other.depth &&
           threads == other.threads && shared_bytes == other.shared_bytes;
  }
};

}  // namespace pippin::cuda
