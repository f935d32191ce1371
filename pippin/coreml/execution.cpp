#include "pippin/coreml/execution.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/coreml/strided.h"

namespace pippin::coreml {
namespace {

using mil::Feature;

constexpr const char* kWhat = "an array for Core ML";

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

bool shares_memory(const Feature& feature) {
  return feature.data_type == mil::DataType::Float32 || feature.data_type == mil::DataType::Int32;
}

// In Core ML, scalars are arrays of one element.
std::vector<int64_t> core_shape(const std::vector<int64_t>& shape) {
  return shape.empty() ? std::vector<int64_t>{1} : shape;
}

void check(const ErrorText& error_text, const Feature& feature) {
  if (!error_text.empty()) fail(ErrorCode::Device, "'{}': {}", feature.name, error_text);
}

void make_room(engine::Memory& memory, size_t bytes) {
  if (memory.size() < bytes) memory = engine::Memory(std::max<size_t>(bytes, 1), kWhat);
}

}  // namespace

void SharedArray::bind(Framework& framework, const Feature& feature, std::vector<int64_t> shape) {
  if (is_bound() && shape == shape_) return;
  core_.reset();
  const size_t count = count_of(shape);
  bytes_ = count * 4;
  // Arrays that grow with each token are not reallocated each time.
  if (packed_.size() < bytes_) make_room(packed_, shape_.empty() ? bytes_ : 2 * bytes_);
  shape_ = std::move(shape);
  if (count == 0)
    fail(ErrorCode::InvalidArgument, "'{}' is empty, which Core ML has no arrays for",
         feature.name);
  if (feature.kind == Feature::Kind::Image) {
    check(framework.make_picture(pixel_format(feature.image.color_space), shape_.at(3),
                                 shape_.at(2), core_),
          feature);
    return;
  }
  std::byte* memory = packed_.data();
  if (!shares_memory(feature)) {
    const size_t size = mil::packed_size(feature.data_type, static_cast<int64_t>(count));
    if (converted_.size() < size) make_room(converted_, converted_.size() == 0 ? size : 2 * size);
    memory = converted_.data();
  }
  check(framework.wrap(memory, feature.data_type, core_shape(shape_), core_), feature);
}

void SharedArray::give(const Feature& feature) {
  if (feature.kind == Feature::Kind::Image) {
    check(core_->write([&](const Elements& elements) {
      to_picture(packed_.data(), feature.image.color_space, elements);
    }),
          feature);
  } else if (!shares_memory(feature)) {
    // In this array's own memory, which nothing else writes: its layout is packed.
    const Elements own{
        converted_.data(), feature.data_type, {static_cast<int64_t>(bytes_ / 4)}, {1}};
    from_plan(packed_.data(), own);
  }
}

void SharedArray::take(const Feature& feature, CoreArray& array) {
  std::vector<int64_t> given;
  bool fits = true;
  const auto learn = [&](const Elements& elements) {
    given = elements.shape;
    if (feature.kind == Feature::Kind::Image) {
      given = {1, elements.shape[2] == 1 ? 1 : 3, elements.shape[0], elements.shape[1]};
    } else {
      fits = elements.type == feature.data_type;
    }
  };
  check(array.read(learn), feature);
  if (!fits) fail(ErrorCode::Device, "'{}' is of another type than the package says", feature.name);
  if (is_bound() && given != core_shape(shape_)) {
    fail(ErrorCode::Device, "'{}' is of shape {} and not {}", feature.name, given, shape_);
  }
  if (!is_bound()) {
    bytes_ = count_of(given) * 4;
    make_room(packed_, bytes_);
    shape_ = given;
  }
  if (&array == core_.get() && shares_memory(feature)) return;
  check(array.read([&](const Elements& elements) {
    if (feature.kind == Feature::Kind::Image) {
      from_picture(elements, feature.image.color_space, packed_.data());
    } else {
      to_plan(elements, packed_.data());
    }
  }),
        feature);
}

void CoreExecution::reserve_lanes(size_t count) {
  while (lanes_.size() < count) {
    Lane& lane = lanes_.emplace_back();
    lane.inputs.resize(plan_.inputs_.size());
    lane.outputs.resize(plan_.outputs_.size());
    lane.output_shapes.resize(plan_.outputs_.size());
  }
}

void CoreExecution::bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state,
                         size_t index) {
  Lane& lane = lanes_.at(index);
  CoreStateMemory* memory = nullptr;
  if (!plan_.states().empty()) memory = &state.memory<CoreStateMemory>(plan_.device_);
  if (lane.shapes != shapes || shapes.empty()) {
    lane.shapes.clear();  // restored only if everything below succeeds
    std::map<uint64_t, int64_t> symbols;
    plan_.axes_.set_symbols(shapes, symbols);
    engine::check_constraints(plan_.constraints_, symbols);
    Framework& framework = plan_.loaded_->framework();
    for (size_t i = 0; i < shapes.size(); ++i) {
      lane.inputs[i].bind(framework, plan_.description_.inputs[i], shapes[i]);
    }
    for (size_t i = 0; i < lane.outputs.size(); ++i) {
      const CorePlan::OutputShape& output = plan_.output_shapes_[i];
      lane.output_shapes[i].clear();
      if (!output.shape) {
        lane.outputs[i] = {};
        continue;
      }
      for (const mil::Dim& dim : *output.shape) {
        lane.output_shapes[i].push_back(engine::evaluate(dim, symbols));
      }
      lane.outputs[i].bind(framework, *output.feature, lane.output_shapes[i]);
    }
    lane.shapes = shapes;
  }
  lane.state = memory;
}

MutableByteSpan CoreExecution::input_bytes(size_t index, size_t lane) {
  SharedArray& input = lanes_.at(lane).inputs.at(index);
  return {input.data(), input.bytes()};
}

Request CoreExecution::prepare(Lane& lane) const {
  Request request;
  for (size_t i = 0; i < lane.inputs.size(); ++i) {
    const Feature& feature = plan_.description_.inputs[i];
    lane.inputs[i].give(feature);
    request.inputs.push_back({feature.name, lane.inputs[i].core()});
  }
  for (size_t i = 0; i < lane.outputs.size(); ++i) {
    const Feature& feature = *plan_.output_shapes_[i].feature;
    if (!lane.outputs[i].is_bound() || feature.kind == Feature::Kind::Image) continue;
    request.backings.push_back({feature.name, lane.outputs[i].core()});
  }
  if (lane.state != nullptr) {
    request.state = &lane.state->for_run(plan_.loaded_->model(), plan_.states());
  }
  return request;
}

void CoreExecution::take(Lane& lane, const std::vector<Output>& outputs) const {
  for (size_t i = 0; i < lane.outputs.size(); ++i) {
    const CorePlan::OutputShape& wanted = plan_.output_shapes_[i];
    const std::string& name = wanted.feature->name;
    const auto output = std::find_if(outputs.begin(), outputs.end(),
                                     [&](const Output& one) { return one.name == name; });
    if (output == outputs.end() || output->array == nullptr) {
      fail(ErrorCode::Device, "{}: Core ML gave no array '{}'", plan_.loaded_->name(), name);
    }
    SharedArray& array = lane.outputs[i];
    array.take(*wanted.feature, *output->array);
    if (!wanted.shape) lane.output_shapes[i] = array.shape();
  }
}

void CoreExecution::run(size_t index, std::optional<engine::WantedRows> /*rows*/) {
  Lane& lane = lanes_.at(index);
  take(lane, plan_.loaded_->predict(prepare(lane)));
}

void CoreExecution::run_together(std::span<const size_t> lanes) {
  std::vector<Request> requests;
  for (const size_t lane : lanes) requests.push_back(prepare(lanes_.at(lane)));
  const auto outputs = plan_.loaded_->predict_together(requests);
  for (size_t i = 0; i < lanes.size(); ++i) take(lanes_.at(lanes[i]), outputs[i]);
}

ByteSpan CoreExecution::output_bytes(size_t index, size_t lane) const {
  const SharedArray& output = lanes_.at(lane).outputs.at(index);
  return {output.data(), output.bytes()};
}

std::span<const int64_t> CoreExecution::output_shape(size_t index, size_t lane) const {
  return lanes_.at(lane).output_shapes.at(index);
}

}  // namespace pippin::coreml
