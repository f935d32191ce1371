#include "tests/coreml/standin_engine.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/base/testing.h"
#include "pippin/engine/input_axes.h"
#include "pippin/mil/package/package.h"

namespace pippin::standin {
namespace {

namespace fs = std::filesystem;
using mil::DataType;

template <typename Body>
std::string in_words(Body&& body) {
  try {
    body();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

template <typename From, typename To>
void convert(const std::byte* from, std::byte* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    const To result = static_cast<To>(value);
    std::memcpy(to + i * sizeof(To), &result, sizeof(To));
  }
}

// Converts between the elements of Core ML's arrays and those of plans, fp32 and int32.
void to_plan(const HostArray& array, std::byte* to) {
  const size_t count = count_of(array.shape);
  switch (array.type) {
    case DataType::Float16:
      return convert_f16_to_f32(array.bytes.data(), to, count);
    case DataType::Float64:
      return convert<double, float>(array.bytes.data(), to, count);
    case DataType::Int8:
      return convert<int8_t, int32_t>(array.bytes.data(), to, count);
    default:
      std::copy(array.bytes.begin(), array.bytes.end(), to);
  }
}

void from_plan(const std::byte* from, HostArray& array) {
  const size_t count = count_of(array.shape);
  array.bytes.resize(mil::packed_size(array.type, static_cast<int64_t>(count)));
  switch (array.type) {
    case DataType::Float16:
      convert_f32_to_f16(from, array.bytes.data(), count);
      return;
    case DataType::Float64:
      return convert<float, double>(from, array.bytes.data(), count);
    case DataType::Int8:
      return convert<int32_t, int8_t>(from, array.bytes.data(), count);
    default:
      std::copy_n(from, array.bytes.size(), array.bytes.begin());
  }
}

}  // namespace

EngineOptions& engine_options() {
  static EngineOptions options;
  return options;
}

std::string compile(const fs::path& package, const fs::path& folder, int ios, fs::path& compiled) {
  return in_words([&] {
    const mil::Model model = mil::read_package(package);
    // iOS 15 introduced version 6, and each year adds one.
    const int newest = 6 + std::min(ios / 10, 18) - 15 + (ios >= 260 ? 1 : 0);
    if (model.specification_version > newest) {
      fail(ErrorCode::Unsupported,
           "compiler error: the model has specification version {}, this system knows {}",
           model.specification_version, newest);
    }
    compiled = folder / (package.stem().string() + ".mlmodelc");
    mil::write_compiled(model, compiled);
  });
}

std::string read_model(const fs::path& compiled, mil::Model& model) {
  return in_words([&] { model = mil::read_package(compiled); });
}

std::string EngineModel::load(const fs::path& compiled, const std::string& function,
                              std::shared_ptr<EngineModel>& model) {
  return in_words([&] {
    auto loaded = std::make_shared<EngineModel>();
    loaded->model_ = mil::read_package(compiled);
    loaded->description_ =
        &loaded->model_.description(function.empty() ? loaded->model_.default_function : function);
    const int threads = engine_options().threads;
    loaded->pool_ = std::make_unique<ThreadPool>(threads > 0 ? threads : default_num_threads());
    model = std::move(loaded);
  });
}

std::string EngineModel::new_state(std::unique_ptr<engine::State>& state) const {
  return in_words([&] { state = std::make_unique<engine::State>(description_->states); });
}

EngineModel::Ready& EngineModel::ready_for(const HostArrays& inputs) {
  std::vector<bool> ones;
  engine::PlanOptions options;
  options.compute = engine_options().compute;
  for (const mil::Feature& feature : description_->inputs) {
    const std::vector<int64_t>& shape = inputs.at(feature.name).shape;
    auto& ranges = options.input_ranges[feature.name];
    auto declared = engine::declared_ranges(feature);
    declared.resize(shape.size());  // a picture declares no shape, and is not planned
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      ones.push_back(shape[axis] == 1);
      ranges.push_back(shape[axis] == 1 ? mil::SizeRange{1, 1} : declared[axis]);
      if (ranges.back().upper < 0) ranges.back() = {shape[axis], shape[axis]};
    }
  }
  const auto known = std::find_if(ready_.begin(), ready_.end(),
                                  [&](const Ready& one) { return one.ones == ones; });
  if (known != ready_.end()) return *known;
  ready_.push_back({ones, nullptr});
  try {
    auto plan = engine::Plan::make(model_, description_->name, options);
    ready_.back().execution = std::make_unique<engine::Execution>(std::move(plan), *pool_);
  } catch (const Error&) {  // loops, data-dependent sizes: left to the runner
  }
  return ready_.back();
}

void EngineModel::run_plan(engine::Execution& execution, const HostArrays& inputs,
                           engine::State& state, HostArrays& outputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (const engine::Port& port : execution.plan().inputs()) {
    shapes.push_back(inputs.at(port.name).shape);
  }
  execution.bind(shapes, state);
  for (size_t i = 0; i < shapes.size(); ++i) {
    to_plan(inputs.at(execution.plan().inputs()[i].name), execution.input_bytes(i).data());
  }
  execution.run();
  for (const mil::Feature& feature : description_->outputs) {
    const auto ports = execution.plan().outputs();
    const auto port = std::find_if(ports.begin(), ports.end(),
                                   [&](const auto& one) { return one.name == feature.name; });
    const auto index = static_cast<size_t>(port - ports.begin());
    HostArray& output = outputs[feature.name];
    output.type = feature.data_type;
    output.shape = execution.output_shape(index);
    from_plan(std::as_bytes(execution.int_output(index)).data(), output);
    if (output.shape.empty()) output.shape = {1};
  }
}

void EngineModel::run_whole(const HostArrays& inputs, engine::State& state, HostArrays& outputs) {
  if (runner_ == nullptr) {
    engine::RunnerOptions options;
    options.compute = engine_options().compute;
    runner_ = engine::Runner::make(model_, description_->name, *pool_, options);
  }
  engine::NamedHostTensors hosts;
  for (const auto& [name, array] : inputs) {
    hosts[name].type = array.type;
    hosts[name].shape = array.shape;
    hosts[name].bytes = array.bytes;
  }
  for (const auto& result : runner_->run(hosts, state)) {
    const std::string& name = result.first;
    HostArray& output = outputs[name];
    const auto& features = description_->outputs;
    const auto feature = std::find_if(features.begin(), features.end(),
                                      [&](const auto& one) { return one.name == name; });
    mil::Tensor tensor = engine::to_tensor(result.second);
    tensor.type = feature->data_type;
    mil::round_to_type(tensor);
    output.type = tensor.type;
    output.shape = tensor.shape.empty() ? std::vector<int64_t>{1} : tensor.shape;
    output.bytes = mil::to_bytes(tensor);
  }
}

std::string EngineModel::predict(const HostArrays& inputs, engine::State& state,
                                 HostArrays& outputs) {
  return in_words([&] {
    const std::lock_guard lock(mutex_);
    const Ready& ready = ready_for(inputs);
    if (ready.execution != nullptr) {
      run_plan(*ready.execution, inputs, state, outputs);
    } else {
      run_whole(inputs, state, outputs);
    }
  });
}

}  // namespace pippin::standin
