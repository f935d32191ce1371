// Makes launches of kernels from nodes: kernels are chosen when a plan is made, and get the
// operands of each run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/cuda/launchers/launch.h"
#include "pippin/engine/compute_options.h"
#include "pippin/engine/nodes/node.h"
#include "pippin/engine/nodes/target.h"
#include "pippin/engine/run/step.h"

namespace pippin::cuda {

class WeightStore;

// The limits of a GPU.
struct Limits {
  int major = 9, minor = 0;                   // compute capability
  int64_t shared_bytes = int64_t{227} << 10;  // of a block
  int64_t cache_bytes = int64_t{50} << 20;

  bool has_tensor_cores() const { return major >= 8; }  // those that the kernels use
};

// The input of make_launcher().
struct LauncherSource {
  const engine::Node& node;
  const engine::ComputeOptions& options;
  const Limits& limits;
  WeightStore& weights;  // uploads

  bool is_exact() const { return options.precision != engine::Precision::Fast; }
};

// A run's operands: data are addresses of the device, which the host never reads.
struct LaunchContext {
  std::span<const engine::Operand> operands;  // as Node::views
  std::span<const int64_t> scalars;           // as Node::scalars
  std::byte* scratch;  // scratch_bytes(), aligned to 256; launches may use it until the node ends
  uint32_t* failed;    // set to 1 by a kernel that finds data it must refuse
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Adds the launches, in order, which run one after another; none if there is nothing to compute.
  virtual void add(const LaunchContext& context, std::vector<Launch>& launches) const = 0;
  // From the upper bounds of the views.
  virtual int64_t scratch_bytes() const { return 0; }
  // The same for `rows` rows of several sequences; see row_axis().
  virtual int64_t scratch_bytes_of([[maybe_unused]] int64_t rows) const { return scratch_bytes(); }
  // As engine::Step's.
  virtual int row_axis() const { return -1; }
  virtual int64_t weight_bytes() const { return 0; }
};
using LauncherPointer = std::unique_ptr<Launcher>;

// Null if no kernel computes the node, or not with these views.
LauncherPointer make_launcher(const LauncherSource& source);

// The nodes and forms of weights that planning may use; the forms depend on `precision`.
engine::Target cuda_target(const engine::ComputeOptions& options);

}  // namespace pippin::cuda
