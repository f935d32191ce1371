#include "pippin/cuda/run/queue_launch.h"

namespace pippin::cuda {

void queue_kernel(Timeline& timeline, Function function, const Launch& launch, unsigned lanes,
                  const void* parameter, Start start) {
  LaunchAttribute early;
  early.id = LaunchAttribute::kStartsEarly;
  early.value.starts_early = 1;
  LaunchConfig config;
  config.grid_x = launch.blocks;
  config.grid_y = lanes;
  config.grid_z = launch.depth;
  config.block_x = launch.threads;
  config.shared_bytes = launch.shared_bytes;
  config.stream = timeline.stream();
  if (start == Start::Early && timeline.gpu().starts_early()) {
    config.attributes = &early;
    config.num_attributes = 1;
  }
  void* parameters[] = {const_cast<void*>(parameter)};
  timeline.gpu().call<&Driver::launch>(&config, function, parameters, nullptr);
  timeline.mark_busy();
}

void queue_launch(Timeline& timeline, const LoadedKernels& kernels, const Launch& launch,
                  Start start) {
  queue_kernel(timeline, kernels.find(launch.kernel, false), launch, 1, launch.arguments.data(),
               start);
}

}  // namespace pippin::cuda
