// A device for tests that runs the nodes of a plan with the scalar kernels in separate memory, as
// an accelerator would. There, values that were neither computed nor received are NaN. Stale copies
// on the host are poisoned, and all transferred bytes are counted.
//
// Compressed weights, and those of mixtures of experts, are read in place from the package.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/numbers/checked.h"
#include "pippin/engine/cpu/limits.h"
#include "pippin/engine/cpu/make_step.h"
#include "pippin/engine/device.h"
#include "pippin/engine/device_execution.h"
#include "pippin/engine/planning/planning.h"
#include "pippin/engine/run/lane.h"

namespace pippin::engine {

// Bytes transferred between host and device, by kind, and between states on the device.
struct Transfers {
  std::atomic<uint64_t> inputs = 0, outputs = 0;            // of runs
  std::atomic<uint64_t> state_reads = 0, state_writes = 0;  // of states, by the host
  std::atomic<uint64_t> state_copies = 0;
  std::atomic<uint64_t> constants = 0;
};

class NodeDevice final : public Device {
 public:
  explicit NodeDevice(std::set<std::string_view> lacks_fusions = {})
      : lacks_fusions_(std::move(lacks_fusions)) {}

  const std::string& name() const override { return name_; }
  std::shared_ptr<const Plan> make_plan(const mil::Model& model, std::string_view function,
                                        const PlanOptions& options) override;
  std::unique_ptr<StateMemory> make_state(const std::vector<mil::Feature>& states) override;

  Target target(const ComputeOptions& options) const {
    Target target;
    target.takes_quantized = [](const QuantizedWeight&) { return true; };
    target.lacks_fusions = lacks_fusions_;
    target.shares_input = [options](const DotNode& a, const DotNode& b) {
      return share_input(a, b, options);
    };
    target.fits_windows = fits_windows;
    return target;
  }
  const std::shared_ptr<Transfers>& transfers() const { return transfers_; }
  void count_run() { ++runs_; }
  int64_t runs() const { return runs_; }

 private:
  std::string name_ = "node device";
  std::set<std::string_view> lacks_fusions_;
  std::shared_ptr<Transfers> transfers_ = std::make_shared<Transfers>();
  std::atomic<int64_t> runs_ = 0;
};

class NodeStateMemory final : public StateMemory {
 public:
  NodeStateMemory(const std::vector<mil::Feature>& states, std::shared_ptr<Transfers> transfers)
      : transfers_(std::move(transfers)) {
    for (const mil::Feature& state : states) arrays_.emplace_back(state_bytes(state));
  }

  void reset() override {
    for (auto& array : arrays_) std::fill(array.begin(), array.end(), std::byte{0});
  }
  void read_rows(size_t index, const StateRows& rows, std::byte* to,
                 uint64_t stride) const override {
    engine::read_rows(arrays_.at(index).data(), rows, to, stride);
    transfers_->state_reads += rows.size();
  }
  void write_rows(size_t index, const StateRows& rows, const std::byte* from,
                  uint64_t stride) override {
    engine::write_rows(arrays_.at(index).data(), rows, from, stride);
    transfers_->state_writes += rows.size();
  }
  void copy_rows(size_t index, const StateRows& rows, const StateMemory& from) override {
    const auto& other = static_cast<const NodeStateMemory&>(from).arrays_.at(index);
    engine::write_rows(arrays_.at(index).data(), rows, other.data() + rows.first * rows.row_bytes,
                       rows.rows * rows.row_bytes);
    transfers_->state_copies += rows.size();
  }
  std::unique_ptr<StateMemory> clone() const override {
    auto copy = std::make_unique<NodeStateMemory>(std::vector<mil::Feature>(), transfers_);
    copy->arrays_ = arrays_;
    for (const auto& array : arrays_) transfers_->state_copies += array.size();
    return copy;
  }

  std::byte* address(size_t index) { return arrays_.at(index).data(); }

 private:
  std::shared_ptr<Transfers> transfers_;
  std::vector<std::vector<std::byte>> arrays_;
};

class NodeDevicePlan final : public Plan {
 public:
  NodeDevicePlan(NodeDevice& device, NodePlan made, const ComputeOptions& options)
      : device_(device), plan_(std::move(made)) {
    ComputeOptions scalar = options;
    scalar.cpu = limit_cpu(scalar.cpu, "scalar");
    for (const Node& node : plan_.nodes) {
      steps_.push_back(make_step(node, scalar));
      scratch_ = std::max(scratch_, align_up<int64_t>(steps_.back()->scratch_bytes(), 64));
    }
    for (const Buffer& buffer : plan_.buffers) constants_.push_back(upload(buffer));
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      masks_only_.push_back(only_masks_attention(plan_, i));
    }
  }

  const std::string& name() const override { return plan_.function; }
  std::span<const Port> inputs() const override { return plan_.inputs; }
  std::span<const Port> outputs() const override { return plan_.outputs; }
  const std::vector<mil::Feature>& states() const override { return plan_.states; }
  uint64_t arena_bytes() const override { return static_cast<uint64_t>(plan_.arena_size); }
  uint64_t weight_bytes() const override { return 0; }
  uint64_t saved_bytes() const override { return 0; }
  std::string describe() const override { return nodes_text(); }
  std::string nodes_text() const override { return engine::nodes_text(plan_); }
  std::string nodes_json() const override { return engine::nodes_json(plan_); }
  std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const override;

 private:
  friend class NodeExecution;

  std::byte* upload(const Buffer& buffer) {
    if (buffer.kind != Buffer::Kind::Constant) return nullptr;
    auto& copy = uploaded_[buffer.data];
    const auto size =
        static_cast<size_t>(buffer.elements.constant() * element_size(buffer.storage));
    if (copy.size() < size) {
      copy.assign(buffer.data, buffer.data + size);
      device_.transfers()->constants += size;
    }
    return copy.data();
  }

  NodeDevice& device_;
  const NodePlan plan_;
  std::vector<std::unique_ptr<Step>> steps_;
  int64_t scratch_ = 0;
  std::map<const std::byte*, std::vector<std::byte>> uploaded_;
  std::vector<std::byte*> constants_;  // by buffer
  std::vector<bool> masks_only_;       // by input
};

class NodeExecution final : public DeviceExecution {
 public:
  explicit NodeExecution(const NodeDevicePlan& plan)
      : plan_(plan), scratch_(static_cast<size_t>(plan.scratch_)) {
    NodeDevice& device = plan.device_;
    const auto state = [&device](State& of, size_t index) {
      return of.memory<NodeStateMemory>(device.name()).address(index);
    };
    layout_ = std::make_shared<const LaneLayout>(plan.plan_, LaneMemory{state, plan.constants_});
    reserve_lanes(1);
  }

  void reserve_lanes(size_t count) override {
    while (seats_.size() < count) seats_.emplace_back(plan_.plan_, layout_);
  }
  size_t lanes() const override { return seats_.size(); }

  void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane) override {
    Seat& seat = seats_.at(lane);
    seat.lane.bind(shapes, state);
    seat.forget_outputs();
  }

  MutableByteSpan input_bytes(size_t index, size_t lane) override {
    Seat& seat = seats_.at(lane);
    seat.is_written.at(index) = true;
    seat.past.erase(index);
    return std::span(seat.inputs.at(index)).first(byte_size(seat.lane.input(index)));
  }

  bool put_causal_mask(size_t index, int64_t past, size_t lane) override {
    if (!plan_.masks_only_.at(index)) return false;
    seats_.at(lane).past[index] = past;
    return true;
  }

  void run(size_t index, std::optional<WantedRows> /*rows*/) override {
    Seat& seat = seats_.at(index);
    NodeDevice& device = plan_.device_;
    device.count_run();
    seat.lane.take_values([&](size_t input, size_t element) {
      int32_t number;
      std::memcpy(&number, seat.inputs[input].data() + element * sizeof(number), sizeof(number));
      return number;
    });
    seat.poison(plan_.plan_);
    for (size_t i = 0; i < seat.inputs.size(); ++i) {
      if (!seat.is_written[i] || seat.past.contains(i)) continue;
      const Operand& target = seat.lane.input(i);
      std::memcpy(target.data, seat.inputs[i].data(), byte_size(target));
      device.transfers()->inputs += byte_size(target);
      seat.is_written[i] = false;
    }
    for (const auto& [input, past] : seat.past) {
      fill_mask(seat.lane.input(input), past);
      device.transfers()->inputs += sizeof(past);
    }
    std::exception_ptr error;
    for (size_t i = 0; i < plan_.steps_.size(); ++i) {
      plan_.steps_[i]->run(
          {seat.lane.operands(i), seat.lane.scalars(i), one_thread_, scratch_.data(), &error});
    }
    seat.forget_outputs();
    if (error) std::rethrow_exception(error);
  }

  void run_together(std::span<const size_t> lanes) override {
    for (const size_t lane : lanes) run(lane, std::nullopt);
  }

  ByteSpan output_bytes(size_t index, size_t lane) const override {
    return output_part(index, 0, byte_size(seats_.at(lane).lane.output(index)), lane);
  }
  ByteSpan output_part(size_t index, size_t begin, size_t size, size_t lane) const override {
    const Seat& seat = seats_.at(lane);
    std::vector<std::byte>& copy = seat.outputs.at(index);
    std::memcpy(copy.data() + begin, seat.lane.output(index).data + begin, size);
    plan_.device_.transfers()->outputs += size;
    return std::span(copy).subspan(begin, size);
  }
  std::optional<int32_t> largest(size_t index, size_t begin, size_t count,
                                 size_t lane) const override {
    const std::span numbers(seats_.at(lane).lane.output(index).floats() + begin, count);
    if (std::any_of(numbers.begin(), numbers.end(), [](float x) { return std::isnan(x); }) ||
        std::none_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); })) {
      return std::nullopt;
    }
    plan_.device_.transfers()->outputs += sizeof(int32_t);
    return static_cast<int32_t>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
  }
  std::span<const int64_t> output_shape(size_t index, size_t lane) const override {
    const Operand& operand = seats_.at(lane).lane.output(index);
    return {operand.shape, static_cast<size_t>(operand.rank)};
  }

 private:
  static size_t byte_size(const Operand& operand) {
    return static_cast<size_t>(operand.size() * element_size(operand.storage));
  }
  static size_t most_bytes(const NodePlan& plan, const View& view) {
    const int64_t elements = mil::num_elements(view.shape).upper();
    return static_cast<size_t>(elements * element_size(plan.buffer(view).storage));
  }
  static void fill_mask(const Operand& mask, int64_t past) {
    const int64_t rows = mask.shape[mask.rank - 2], keys = mask.shape[mask.rank - 1];
    for (int64_t i = 0; i < mask.size(); ++i) {
      const bool is_seen = i % keys <= past + i / keys % rows;
      mask.floats()[i] = is_seen ? 0 : -std::numeric_limits<float>::infinity();
    }
  }

  struct Seat {
    Seat(const NodePlan& plan, const std::shared_ptr<const LaneLayout>& layout)
        : arena(static_cast<size_t>(plan.arena_size) + 64), lane(layout, aligned(arena)) {
      for (const View& view : plan.input_views) inputs.emplace_back(most_bytes(plan, view));
      for (const View& view : plan.output_views) outputs.emplace_back(most_bytes(plan, view));
      is_written.assign(inputs.size(), true);
    }

    static std::byte* aligned(std::vector<std::byte>& bytes) {
      return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
    }
    // Poisons everything but the inputs, so that no run depends on earlier ones.
    void poison(const NodePlan& plan) {
      for (size_t i = 0; i < plan.buffers.size(); ++i) {
        const Buffer& buffer = plan.buffers[i];
        if (buffer.kind != Buffer::Kind::Arena || plan.offsets[i] < 0) continue;
        const int64_t size = buffer.elements.upper() * element_size(buffer.storage);
        std::memset(aligned(arena) + plan.offsets[i], 0xFF, static_cast<size_t>(size));
      }
    }
    void forget_outputs() {
      for (auto& output : outputs) std::fill(output.begin(), output.end(), std::byte{0xFF});
    }

    std::vector<std::byte> arena;  // on the device
    Lane lane;
    std::vector<std::vector<std::byte>> inputs;  // on the host, as the caller wrote them
    mutable std::vector<std::vector<std::byte>> outputs;
    std::vector<bool> is_written;    // by input: since it was copied to the device
    std::map<size_t, int64_t> past;  // of causal masks, by input
  };

  const NodeDevicePlan& plan_;
  std::shared_ptr<const LaneLayout> layout_;
  std::vector<std::byte> scratch_;
  ThreadPool one_thread_{1};
  std::deque<Seat> seats_;
};

inline std::shared_ptr<const Plan> NodeDevice::make_plan(const mil::Model& model,
                                                         std::string_view function,
                                                         const PlanOptions& options) {
  return std::make_shared<const NodeDevicePlan>(
      *this, plan_nodes(model, function, options, target(options.compute)), options.compute);
}

inline std::unique_ptr<StateMemory> NodeDevice::make_state(
    const std::vector<mil::Feature>& states) {
  return std::make_unique<NodeStateMemory>(states, transfers_);
}

inline std::unique_ptr<DeviceExecution> NodeDevicePlan::make_execution(ThreadPool& /*pool*/) const {
  return std::make_unique<NodeExecution>(*this);
}

}  // namespace pippin::engine
