// The entry points of all kernels. NAME computes for one lane; NAME_lanes for lane blockIdx.y of several, or with
// arguments that change from run to run.
#include "pippin/cuda/kernels/all.cuh"

using namespace pippin::cuda;

namespace {

template <typename Args, typename = void>
struct WaitsItself {
  static constexpr bool value = false;
};
template <typename Args>
struct WaitsItself<Args, decltype(static_cast<void>(Args::kWaitsItself))> {
  static constexpr bool value = Args::kWaitsItself;
};

}  // namespace

#define PIPPIN_CUDA_KERNEL(name, Args, threads)                                                        \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Args args) {      \
    let_next_start();                                                                                  \
    if constexpr (!WaitsItself<Args>::value) wait_for_previous();                                      \
    name##_body(args);                                                                                 \
  }                                                                                                    \
  extern "C" __global__ void __launch_bounds__(threads) name##_lanes(const Args* __restrict__ args) {  \
    let_next_start();                                                                                  \
    if constexpr (!WaitsItself<Args>::value) wait_for_previous();                                      \
    const Args mine = args[blockIdx.y];                                                                \
    name##_body(mine);                                                                                 \
  }
#include "pippin/cuda/kernels/kernels.inc"
