#include "pippin/cuda/fake/emulated_kernels.h"

#include "pippin/cuda/emulate/emulate.h"
#include "pippin/cuda/kernels/all.cuh"

namespace pippin::cuda {
namespace {

using Body = void (*)(const void* arguments);
constexpr Body kBodies[] = {
#define PIPPIN_CUDA_KERNEL(name, Args, threads) \
  [](const void* arguments) { name##_body(static_cast<const Args*>(arguments)[blockIdx.y]); },
#include "pippin/cuda/kernels/kernels.inc"
#undef PIPPIN_CUDA_KERNEL
};

}  // namespace

void emulate_launch(Kernel kernel, const void* arguments, unsigned blocks, unsigned lanes,
                    unsigned depth, unsigned threads, size_t shared_bytes) {
  emulate::run({{blocks, lanes, depth}, threads, shared_bytes},
               [&] { kBodies[static_cast<size_t>(kernel)](arguments); });
}

}  // namespace pippin::cuda
