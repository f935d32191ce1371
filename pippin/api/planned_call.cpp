#include "pippin/api/planned_call.h"

#include <algorithm>
#include <cstring>

#include "pippin/api/elements.h"
#include "pippin/api/feature.h"
#include "pippin/api/targets.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/engine/run/profile.h"
#include "pippin/mil/tensor.h"

namespace pippin::api {
namespace {

using Kind = FeatureInfo::Kind;

constexpr int64_t kOne[] = {1};   // the shape of scalars
constexpr size_t kMaxPlans = 64;  // remembered; most of them may be unused

bool is_simple(const FeatureInfo& feature, const engine::Port& port) {
  const DataType type = feature.type;
  return feature.kind == Kind::MultiArray && to_mil(type) == port.declared &&
         (type == DataType::Float32 || type == DataType::Float16 || type == DataType::Int32 ||
          type == DataType::Bool);
}

// The type in which a plan stores the elements; bools are bytes.
DataType stored_type(const engine::Port& port) {
  return port.is_float ? DataType::Float32 : DataType::Int32;
}

const Tensor* find_tensor(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : std::get_if<Tensor>(&found->second);
}

template <typename From, typename To>
void to_bools(std::span<const std::byte> source, std::span<std::byte> target) {
  for (size_t i = 0; i < target.size() / sizeof(To); ++i) {
    From value;
    std::memcpy(&value, source.data() + i * sizeof(From), sizeof(From));
    const To truth = value != 0 ? 1 : 0;
    std::memcpy(target.data() + i * sizeof(To), &truth, sizeof(To));
  }
}

}  // namespace

std::shared_ptr<const engine::Plan> SharedPlans::get(const mil::Model& model,
                                                     const std::string& function,
                                                     const Shapes& shapes,
                                                     const engine::RunnerOptions& options) {
  for (const Entry& entry : entries_) {
    if (entry.shapes != shapes) continue;
    if (auto plan = entry.plan.lock()) return plan;
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.plan.expired(); });
  engine::PlanOptions plan_options;
  plan_options.compute = options.compute;
  const auto& inputs = model.description(function).inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    auto& ranges = plan_options.input_ranges[inputs[i].name];
    for (const int64_t size : shapes[i]) ranges.push_back({size, size});
  }
  const auto begin = engine::Profile::Clock::now();
  auto plan = engine::Plan::make(model, function, plan_options);
  if (engine::Profile* profile = engine::active_profile()) {
    profile->add_span("plan", begin, engine::Profile::Clock::now());
  }
  if (entries_.size() < kMaxPlans) entries_.push_back({shapes, plan});
  return plan;
}

std::span<std::byte> PlannedCall::Scratch::take(size_t size) {
  if (bytes.size() < size) bytes.resize(size);
  return std::span(bytes).first(size);
}

PlannedCall::PlannedCall(std::shared_ptr<const engine::Plan> plan,
                         const PlannedCallOptions& options)
    : execution_(std::move(plan), options.pool), max_elements_(options.runner.max_elements) {}

std::unique_ptr<PlannedCall> PlannedCall::make(const PlannedCallOptions& options,
                                               const Values& inputs, const Values* outputs) {
  const engine::RunnerOptions& runner = options.runner;
  if (runner.trace || runner.compute.precision == engine::Precision::Reference) return nullptr;
  // Checked first, to avoid planning for nothing.
  const auto is_array = [](const FeatureInfo& feature) { return feature.kind == Kind::MultiArray; };
  const auto is_left_out = [&](const FeatureInfo& feature) {
    return outputs != nullptr && !outputs->contains(feature.name);
  };
  if (!std::all_of(options.inputs.begin(), options.inputs.end(), is_array) ||
      !std::all_of(options.outputs.begin(), options.outputs.end(), [&](const FeatureInfo& feature) {
        return is_left_out(feature) || is_array(feature);
      })) {
    return nullptr;
  }
  const mil::ElementLimit limit(runner.max_elements);
  const int64_t batch = batch_of(options.inputs, inputs);
  std::vector<Tensor> absent;
  SharedPlans::Shapes shapes;
  for (const FeatureInfo& feature : options.inputs) {
    const Tensor* tensor = find_tensor(inputs, feature.name);
    if (inputs.contains(feature.name) && tensor == nullptr) return nullptr;
    absent.push_back(tensor == nullptr ? default_input(feature, runner.max_elements, batch)
                                       : Tensor());
    shapes.push_back(declared_rank(feature, (tensor != nullptr ? *tensor : absent.back()).shape()));
  }
  try {
    auto plan = options.plans.get(options.model, options.function, shapes, runner);
    // None of its values is larger than its arena.
    if (plan->arena_bytes() / sizeof(float) > static_cast<uint64_t>(runner.max_elements)) {
      return nullptr;
    }
    std::unique_ptr<PlannedCall> call(new PlannedCall(std::move(plan), options));
    call->shapes_ = std::move(shapes);
    call->is_whole_ = outputs == nullptr;
    const auto in = call->execution_.plan().inputs(), out = call->execution_.plan().outputs();
    for (size_t i = 0; i < options.inputs.size(); ++i) {
      const FeatureInfo& feature = options.inputs[i];
      if (!is_simple(feature, in[i])) return nullptr;
      const Tensor* tensor = find_tensor(inputs, feature.name);
      const Tensor& given = tensor != nullptr ? *tensor : absent[i];
      const DataType stored = feature.type == DataType::Bool ? DataType::Bool : stored_type(in[i]);
      call->inputs_.push_back({feature, stored, std::move(absent[i]), given.type(), given.shape()});
    }
    for (const FeatureInfo& feature : options.outputs) {
      const auto port = std::find_if(out.begin(), out.end(),
                                     [&](const auto& one) { return one.name == feature.name; });
      if (port == out.end()) return nullptr;
      if (is_left_out(feature)) continue;
      if (!is_simple(feature, *port)) return nullptr;
      call->outputs_.push_back(
          {feature, stored_type(*port), static_cast<size_t>(port - out.begin())});
    }
    return call;
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::Unsupported:
      case ErrorCode::InvalidArgument:
      case ErrorCode::InvalidFile:
        return nullptr;  // it may still run operation by operation, or report the error there
      default:
        throw;
    }
  }
}

bool PlannedCall::write_input(const Input& input, const Tensor& tensor, size_t index) {
  const DataType declared = input.feature.type;
  if (tensor.is_contiguous() && tensor.type() == declared && declared == input.stored &&
      declared != DataType::Bool && execution_.lend_input(index, tensor.bytes())) {
    return true;
  }
  const MutableByteSpan place = execution_.input_bytes(index);
  const auto count = static_cast<size_t>(tensor.size());
  std::span<const std::byte> source;
  if (tensor.is_contiguous()) {
    source = tensor.bytes();
  } else {
    const auto packed = packed_.take(count * static_cast<size_t>(byte_size(tensor.type())));
    tensor.copy_to(packed);
    source = packed;
  }
  if (tensor.type() != declared) {
    const auto target = converted_.take(count * static_cast<size_t>(byte_size(declared)));
    if (elements::convert(tensor.type(), source, declared, target, true)) return false;
    source = target;
  }
  if (declared == DataType::Bool) {
    to_bools<uint8_t, uint8_t>(source, place);
  } else if (declared == input.stored) {
    if (!source.empty()) std::memcpy(place.data(), source.data(), source.size());
  } else {
    elements::convert(declared, source, input.stored, place, false);
  }
  return true;
}

void PlannedCall::read_output(const Output& output, Tensor& target) {
  const std::span<const std::byte> result = std::as_bytes(execution_.int_output(output.port));
  const DataType type = output.feature.type;
  if (type == output.stored) return target.copy_from(result);
  const auto converted = converted_.take(static_cast<size_t>(target.size() * byte_size(type)));
  if (type == DataType::Bool) {
    to_bools<int32_t, uint8_t>(result, converted);
  } else {
    elements::convert(output.stored, result, type, converted, false);
  }
  target.copy_from(converted);
}

bool PlannedCall::compute(const Values& inputs, engine::State& state) {
  check_cancel();
  const mil::ElementLimit limit(max_elements_);
  for (const Input& input : inputs_) {
    const Tensor* tensor = find_tensor(inputs, input.feature.name);
    if (tensor == nullptr && inputs.contains(input.feature.name)) return false;
    const Tensor& given = tensor != nullptr ? *tensor : input.absent;
    if (given.type() != input.given || given.shape() != input.shape) return false;
  }
  try {
    execution_.bind(shapes_, state);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor* tensor = find_tensor(inputs, inputs_[i].feature.name);
      if (!write_input(inputs_[i], tensor != nullptr ? *tensor : inputs_[i].absent, i))
        return false;
    }
    execution_.run_cancellable();
  } catch (const Error& error) {
    // Positions that a plan does not support may still be valid operation by operation.
    if (error.code() == ErrorCode::InvalidArgument) return false;
    throw;
  }
  return true;
}

bool PlannedCall::computes(const Values& outputs) const {
  if (is_whole_) return true;
  return std::all_of(outputs.begin(), outputs.end(), [&](const auto& wanted) {
    return std::any_of(outputs_.begin(), outputs_.end(),
                       [&](const Output& output) { return output.feature.name == wanted.first; });
  });
}

std::span<const int64_t> PlannedCall::shape_of(const Output& output) const {
  const std::span<const int64_t> shape = execution_.output_dims(output.port);
  return shape.empty() ? std::span(kOne) : shape;
}

bool PlannedCall::run(const Values& inputs, engine::State& state, Values& outputs) {
  if (!computes(outputs) || !compute(inputs, state)) return false;
  for (const Output& output : outputs_) {
    const Tensor* target = find_tensor(outputs, output.feature.name);
    if (target != nullptr) check_shape(output.feature, shape_of(output), *target);
  }
  for (const Output& output : outputs_) {
    const auto target = outputs.find(output.feature.name);
    if (target != outputs.end()) read_output(output, std::get<Tensor>(target->second));
  }
  return true;
}

std::optional<Values> PlannedCall::run(const Values& inputs, engine::State& state) {
  if (!is_whole_ || !compute(inputs, state)) return std::nullopt;
  Values results;
  for (const Output& output : outputs_) {
    const std::span<const int64_t> shape = shape_of(output);
    Tensor result(output.feature.type, {shape.begin(), shape.end()});
    read_output(output, result);
    results.emplace(output.feature.name, std::move(result));
  }
  return results;
}

}  // namespace pippin::api
