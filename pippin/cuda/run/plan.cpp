#include "pippin/cuda/run/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/text.h"
#include "pippin/cuda/launchers/fuse.h"
#include "pippin/cuda/run/execution.h"
#include "pippin/cuda/run/state.h"

namespace pippin::cuda {
namespace {

using engine::Buffer;
using engine::Node;
using engine::View;

constexpr uint64_t kPlaceAlignment = 256;

uint64_t bytes_of(const Buffer& buffer) {
  return static_cast<uint64_t>(buffer.elements.constant() * engine::element_size(buffer.storage));
}

std::string node_line(const Node& node) {
  std::string text = node_name(node);
  for (size_t i = 0; i < node.views.size(); ++i) {
    const char* const separator = i == node.num_written ? " <- " : i == 0 ? " " : ", ";
    text += fmt::format("{}{}{}", separator, engine::to_string(node.views[i].storage),
                        mil::to_string(node.views[i].shape));
  }
  return text;
}

std::vector<engine::OutputRows::Facts> row_facts(const engine::NodePlan& plan,
                                                 const std::vector<LauncherPointer>& launchers) {
  std::vector<engine::OutputRows::Facts> facts;
  facts.reserve(launchers.size());
  for (size_t i = 0; i < launchers.size(); ++i) {
    const Node& node = plan.nodes[i];
    const bool is_elementwise =
        node.as<engine::UnaryNode>() != nullptr || node.as<engine::BinaryNode>() != nullptr;
    facts.push_back({is_elementwise, launchers[i]->row_axis()});
  }
  return facts;
}

std::byte* state_on_device(const ResourcesPointer& resources, engine::State& state, size_t index) {
  const auto& memory = state.memory<CudaState>(resources->name);
  if (!memory.is_on(*resources->gpu)) {
    fail(ErrorCode::InvalidArgument, "a state of another GPU cannot be used on the device '{}'",
         resources->name);
  }
  return memory.address(index);
}

}  // namespace

CudaPlan::CudaPlan(ResourcesPointer resources, engine::NodePlan made,
                   const engine::ComputeOptions& options)
    : resources_(std::move(resources)),
      nodes_(resources_->run.fuses ? fuse_nodes(std::move(made)) : std::move(made)) {
  resources_->gpu->enter();
  check_memory(options);
  launchers_ = make_launchers(options, resources_->weights);
  upload_constants();
  resources_->weights.finish();
  std::vector<std::byte*> constants;
  constants.reserve(constants_.size());
  for (const UploadedBytes& uploaded : constants_) {
    constants.push_back(uploaded != nullptr ? const_cast<std::byte*>(uploaded->data) : nullptr);
  }
  const auto state = [shared = resources_](engine::State& of, size_t index) {
    return state_on_device(shared, of, index);
  };
  layout_ = std::make_shared<const engine::LaneLayout>(
      nodes_, engine::LaneMemory{state, std::move(constants)});
  moves_ = moving_nodes(*layout_);
  joints_.reserve(nodes_.nodes.size());
  for (size_t i = 0; i < nodes_.nodes.size(); ++i) {
    joints_.push_back(joint_of(nodes_.nodes[i], *launchers_[i]));
    weights_read_ += static_cast<uint64_t>(launchers_[i]->weight_bytes());
  }
  output_rows_.emplace(nodes_, row_facts(nodes_, launchers_));
  for (size_t i = 0; i < nodes_.inputs.size(); ++i) {
    only_masks_.push_back(engine::only_masks_attention(nodes_, i));
    is_read_.push_back(layout_->of_input[i].size() > 1);  // the first is the input itself
  }
}

std::vector<LauncherPointer> CudaPlan::make_launchers(const engine::ComputeOptions& options,
                                                      WeightStore& weights) const {
  std::vector<LauncherPointer> launchers;
  launchers.reserve(nodes_.nodes.size());
  for (const Node& node : nodes_.nodes) {
    launchers.push_back(make_launcher({node, options, resources_->gpu->limits(), weights}));
    if (launchers.back() != nullptr) continue;
    fail(ErrorCode::Unsupported, "{}: the device '{}' has no kernel for {}", nodes_.function,
         resources_->name, node_line(node));
  }
  return launchers;
}

std::vector<bool> CudaPlan::used_constants() const {
  std::vector<bool> used(nodes_.buffers.size());
  const auto use = [&](const View& view) {
    const auto buffer = static_cast<size_t>(view.buffer);
    used[buffer] = nodes_.buffers[buffer].kind == Buffer::Kind::Constant;
  };
  for (const Node& node : nodes_.nodes) {
    for (const View& view : node.views) use(view);
  }
  for (const View& view : nodes_.output_views) use(view);
  return used;
}

// Makes all launchers once without uploading anything.
void CudaPlan::check_memory(const engine::ComputeOptions& options) {
  MeasuredWeights measured(resources_->weights);
  for (const LauncherPointer& launcher : make_launchers(options, measured)) {
    scratch_ = std::max(scratch_, static_cast<uint64_t>(launcher->scratch_bytes()));
  }
  const std::vector<bool> used = used_constants();
  for (size_t i = 0; i < used.size(); ++i) {
    const Buffer& buffer = nodes_.buffers[i];
    if (used[i]) measured.upload(buffer.data, bytes_of(buffer));
  }
  const uint64_t values = lane_bytes() + scratch_bytes(1);
  const uint64_t free = resources_->gpu->free_bytes();
  if (measured.bytes() + values <= free) return;
  fail(ErrorCode::LimitExceeded,
       "{} needs {} of the GPU's memory ({} for weights, {} for values); {} are free",
       nodes_.function, format_bytes(measured.bytes() + values), format_bytes(measured.bytes()),
       format_bytes(values), format_bytes(free));
}

void CudaPlan::upload_constants() {
  const std::vector<bool> used = used_constants();
  constants_.resize(used.size());
  for (size_t i = 0; i < used.size(); ++i) {
    const Buffer& buffer = nodes_.buffers[i];
    if (used[i]) constants_[i] = resources_->weights.upload(buffer.data, bytes_of(buffer));
  }
}

CudaPlan::Joint CudaPlan::joint_of(const Node& node, const Launcher& launcher) const {
  Joint joint;
  joint.axis = launcher.row_axis();
  joint.joins = joint.axis >= 0 && node.num_written < node.views.size();
  if (!joint.joins) return joint;
  for (const View& view : node.views) {
    const auto buffer = static_cast<size_t>(view.buffer);
    joint.has_rows.push_back(nodes_.buffers[buffer].kind != Buffer::Kind::Constant);
    if (!joint.has_rows.back()) continue;
    joint.joins = joint.joins && nodes_.offsets[buffer] >= 0 && view.rank() == joint.axis + 2 &&
                  view.storage == engine::Storage::F32;
  }
  // The written operands, and the multiplied rows, which are the first operand that is read.
  joint.joins = joint.joins && std::all_of(joint.has_rows.begin(),
                                           joint.has_rows.begin() +
                                               static_cast<std::ptrdiff_t>(node.num_written) + 1,
                                           [](bool has) { return has; });
  return joint;
}

bool CudaPlan::has_state(size_t node) const {
  const auto& views = nodes_.nodes[node].views;
  return std::any_of(views.begin(), views.end(), [&](const View& view) {
    return nodes_.buffer(view).kind == Buffer::Kind::State;
  });
}

uint64_t CudaPlan::scratch_bytes(size_t lanes) const {
  uint64_t most = scratch_;
  for (size_t i = 0; lanes > 1 && i < joints_.size(); ++i) {
    if (!joints_[i].joins) continue;
    const auto rows = static_cast<int64_t>(lanes);
    const auto all = static_cast<uint64_t>(launchers_[i]->scratch_bytes_of(rows));
    most = std::max(most, ceil_div<uint64_t>(all, lanes));
  }
  return align_up(most, kPlaceAlignment);
}

uint64_t CudaPlan::lane_bytes() const {
  return align_up<uint64_t>(std::max<uint64_t>(arena_bytes(), 1), kPlaceAlignment);
}

std::string CudaPlan::describe() const {
  std::string text;
  for (const Node& node : nodes_.nodes) text += fmt::format("{}\n", node_line(node));
  return text;
}

std::unique_ptr<engine::DeviceExecution> CudaPlan::make_execution(ThreadPool& /*pool*/) const {
  return std::make_unique<CudaExecution>(*this);
}

}  // namespace pippin::cuda
