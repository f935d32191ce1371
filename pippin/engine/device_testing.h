// A device for tests that computes whole functions with the reference interpreter, in separate
// memory, like an accelerator; fails on request.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/engine/device.h"
#include "pippin/engine/device_execution.h"
#include "pippin/engine/dynamic/run_value.h"
#include "pippin/engine/reference/reference.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/tensor.h"

namespace pippin::engine {

// States in the interpreter's doubles.
class ReferenceStateMemory final : public StateMemory {
 public:
  // Bytes copied to the host and back.
  struct Copies {
    std::atomic<uint64_t> to_host = 0, to_device = 0;
  };
  ReferenceStateMemory(std::vector<mil::Feature> states, std::shared_ptr<Copies> copies)
      : features_(std::move(states)), copies_(std::move(copies)) {
    reset();
  }

  void reset() override {
    for (const mil::Feature& feature : features_) {
      values_.states[feature.name] = mil::Tensor(feature.data_type, feature.shape);
    }
  }
  void read_rows(size_t index, const StateRows& rows, std::byte* to,
                 uint64_t stride) const override {
    engine::read_rows(packed(index).data(), rows, to, stride);
    copies_->to_host += rows.size();
  }
  void write_rows(size_t index, const StateRows& rows, const std::byte* from,
                  uint64_t stride) override {
    const mil::Feature& feature = features_.at(index);
    std::vector<std::byte> bytes = packed(index);
    engine::write_rows(bytes.data(), rows, from, stride);
    values_.states[feature.name] = mil::tensor_from_bytes(feature.data_type, feature.shape, bytes);
    copies_->to_device += rows.size();
  }
  std::unique_ptr<StateMemory> clone() const override {
    auto copy = std::make_unique<ReferenceStateMemory>(features_, copies_);
    copy->values_ = values_;
    return copy;
  }

  ReferenceState& values() { return values_; }

 private:
  std::vector<std::byte> packed(size_t index) const {
    return mil::to_bytes(values_.states.at(features_.at(index).name));
  }

  std::vector<mil::Feature> features_;
  const std::shared_ptr<Copies> copies_;
  ReferenceState values_;
};

class ReferenceDevice final : public Device {
 public:
  // Run number `failing_run` fails, counted from 1; 0: none.
  explicit ReferenceDevice(int64_t failing_run = 0) : failing_run_(failing_run) {}

  const std::string& name() const override { return name_; }
  std::shared_ptr<const Plan> make_plan(const mil::Model& model, std::string_view function,
                                        const PlanOptions& options) override;
  std::unique_ptr<StateMemory> make_state(const std::vector<mil::Feature>& states) override {
    ++states_;
    return std::make_unique<ReferenceStateMemory>(states, copies_);
  }

  void count_run() {
    const int64_t run = ++runs_;
    if (run == failing_run_) fail(ErrorCode::Device, "the {} failed in run {}", name_, run);
  }
  // Counters of the calls.
  int64_t plans() const { return plans_; }
  int64_t states() const { return states_; }
  int64_t runs() const { return runs_; }
  const ReferenceStateMemory::Copies& copies() const { return *copies_; }

 private:
  std::string name_ = "reference device";
  int64_t failing_run_;
  std::atomic<int64_t> plans_ = 0, states_ = 0, runs_ = 0;
  const std::shared_ptr<ReferenceStateMemory::Copies> copies_ =
      std::make_shared<ReferenceStateMemory::Copies>();
};

class ReferencePlan final : public Plan {
 public:
  ReferencePlan(ReferenceDevice& device, const mil::Model& model, std::string_view function,
                const PlanOptions& options)
      : device_(device),
        options_(options),
        function_(model.program.function(function)),
        description_(model.description(function)),
        interpreter_(model.program, function) {
    for (const mil::Feature& feature : description_.inputs) {
      const mil::Var* const var = function_.find_input(feature.name);
      if (var == nullptr) fail(ErrorCode::InvalidFile, "no input '{}'", feature.name);
      input_vars_.push_back(var);
      inputs_.push_back({var->name, var->type.data_type, mil::is_float(var->type.data_type)});
    }
    for (const mil::Var* var : function_.block().outputs()) {
      outputs_.push_back({var->name, var->type.data_type, mil::is_float(var->type.data_type)});
    }
  }

  const std::string& name() const override { return description_.name; }
  std::span<const Port> inputs() const override { return inputs_; }
  std::span<const Port> outputs() const override { return outputs_; }
  const std::vector<mil::Feature>& states() const override { return description_.states; }
  uint64_t arena_bytes() const override { return 0; }
  uint64_t weight_bytes() const override { return 0; }
  uint64_t saved_bytes() const override { return 0; }
  std::string describe() const override { return name() + " on the " + device_.name() + "\n"; }
  std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const override;

 private:
  friend class ReferenceExecution;
  ReferenceDevice& device_;
  PlanOptions options_;
  const mil::Function& function_;
  const mil::FunctionDescription& description_;
  ReferenceInterpreter interpreter_;
  std::vector<const mil::Var*> input_vars_;
  std::vector<Port> inputs_, outputs_;
};

class ReferenceExecution final : public DeviceExecution {
 public:
  explicit ReferenceExecution(const ReferencePlan& plan) : plan_(plan) { reserve_lanes(1); }

  void reserve_lanes(size_t count) override {
    while (lanes_.size() < count) {
      Lane& lane = lanes_.emplace_back();
      lane.inputs.resize(plan_.inputs_.size());
      lane.outputs.resize(plan_.outputs_.size());
      lane.output_shapes.resize(plan_.outputs_.size());
    }
  }
  size_t lanes() const override { return lanes_.size(); }

  void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t index) override {
    Lane& lane = lanes_.at(index);
    if (shapes.size() != plan_.inputs_.size()) {
      fail(ErrorCode::InvalidArgument, "{} shapes for {} inputs", shapes.size(),
           plan_.inputs_.size());
    }
    std::map<std::string, mil::Shape> known;
    for (size_t i = 0; i < shapes.size(); ++i) {
      check_range(i, shapes[i]);
      const mil::Var& var = *plan_.input_vars_[i];
      const bool scalar = var.type.ranked && var.type.dims.empty();
      known[var.name] = scalar ? mil::Shape() : mil::to_shape(shapes[i]);
    }
    const mil::Inference inference = mil::infer(plan_.function_, known);
    ReferenceStateMemory* memory = nullptr;
    if (!plan_.states().empty()) {
      memory = &state.memory<ReferenceStateMemory>(plan_.device_.name());
      for (const mil::Feature& wanted : plan_.states()) {
        const auto place = state.find(wanted.name);
        if (place && state.features()[*place].shape == wanted.shape) continue;
        fail(ErrorCode::InvalidArgument, "no state '{}' of that shape", wanted.name);
      }
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      const auto elements = static_cast<size_t>(mil::num_elements(shapes[i]));
      const bool is_bool = plan_.inputs_[i].declared == mil::DataType::Bool;
      lane.inputs[i].resize(elements * (is_bool ? 1 : 4));
    }
    for (size_t i = 0; i < plan_.outputs_.size(); ++i) {
      const auto shape =
          mil::constant_shape(inference.of(plan_.function_.block().outputs()[i]).shape);
      lane.output_shapes[i] = shape.value_or(std::vector<int64_t>());
      lane.outputs[i].resize(static_cast<size_t>(mil::num_elements(lane.output_shapes[i])) * 4);
    }
    lane.shapes = shapes;
    lane.state = memory;
  }

  MutableByteSpan input_bytes(size_t index, size_t lane) override {
    return lanes_.at(lane).inputs.at(index);
  }

  void run(size_t index, std::optional<WantedRows> /*rows*/) override {
    Lane& lane = lanes_.at(index);
    plan_.device_.count_run();
    std::map<std::string, mil::Tensor> inputs;
    for (size_t i = 0; i < plan_.inputs_.size(); ++i) {
      const mil::Var& var = *plan_.input_vars_[i];
      const bool scalar = var.type.ranked && var.type.dims.empty();
      inputs[var.name] = RunValue(var.type.data_type,
                                  scalar ? std::vector<int64_t>() : lane.shapes[i], lane.inputs[i])
                             .tensor();
    }
    ReferenceState none;
    const auto results =
        plan_.interpreter_.run(inputs, lane.state != nullptr ? lane.state->values() : none);
    for (size_t i = 0; i < plan_.outputs_.size(); ++i) {
      const mil::Tensor& tensor = results.at(plan_.outputs_[i].name);
      lane.output_shapes[i] = tensor.shape;
      lane.outputs[i].resize(tensor.values.size() * 4);
      for (size_t k = 0; k < tensor.values.size(); ++k) {
        std::byte* const target = lane.outputs[i].data() + k * 4;
        if (plan_.outputs_[i].is_float) {
          const auto value = static_cast<float>(tensor.values[k]);
          std::memcpy(target, &value, sizeof(value));
        } else {
          const auto value = static_cast<int32_t>(tensor.values[k]);
          std::memcpy(target, &value, sizeof(value));
        }
      }
    }
  }

  void run_together(std::span<const size_t> lanes) override {
    for (const size_t lane : lanes) run(lane, std::nullopt);
  }

  ByteSpan output_bytes(size_t index, size_t lane) const override {
    return lanes_.at(lane).outputs.at(index);
  }
  std::span<const int64_t> output_shape(size_t index, size_t lane) const override {
    return lanes_.at(lane).output_shapes.at(index);
  }

 private:
  struct Lane {
    std::vector<std::vector<int64_t>> shapes, output_shapes;
    std::vector<std::vector<std::byte>> inputs, outputs;
    ReferenceStateMemory* state = nullptr;
  };

  void check_range(size_t input, const std::vector<int64_t>& shape) const {
    const mil::Feature& feature = plan_.description_.inputs[input];
    const auto chosen = plan_.options_.input_ranges.find(feature.name);
    const auto& ranges =
        chosen != plan_.options_.input_ranges.end() ? chosen->second : feature.ranges;
    if (ranges.empty()) return;
    bool fits = ranges.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      fits = shape[i] >= ranges[i].lower && (ranges[i].upper < 0 || shape[i] <= ranges[i].upper);
    }
    if (!fits) fail(ErrorCode::InvalidArgument, "input '{}' is out of its range", feature.name);
  }

  const ReferencePlan& plan_;
  std::vector<Lane> lanes_;
};

inline std::shared_ptr<const Plan> ReferenceDevice::make_plan(const mil::Model& model,
                                                              std::string_view function,
                                                              const PlanOptions& options) {
  ++plans_;
  return std::make_shared<const ReferencePlan>(*this, model, function, options);
}

inline std::unique_ptr<DeviceExecution> ReferencePlan::make_execution(ThreadPool& /*pool*/) const {
  return std::make_unique<ReferenceExecution>(*this);
}

}  // namespace pippin::engine
