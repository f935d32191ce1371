#include "pippin/mx/record/recorder.h"

#include <algorithm>

#include "pippin/array/builder.h"
#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/primitive.h"

namespace pippin::mx {

mil::DataType mil_type(Dtype dtype) {
  if (dtype == complex64) refuse_record("complex64", "");
  if (dtype == bool_) return mil::DataType::Bool;
  if (dtype == float16) return mil::DataType::Float16;
  return is_floating(dtype) ? mil::DataType::Float32 : mil::DataType::Int32;
}

std::vector<int64_t> to_vector(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

void refuse_record(std::string_view name, std::string_view what) {
  fail(ErrorCode::Unsupported, "export: {} {}cannot be written as MIL", name, what);
}

void refuse_narrow_integers(std::string_view name, Dtype dtype) {
  if (!is_integer(dtype) || size_of(dtype) > 2) return;
  fail(ErrorCode::Unsupported,
       "export: {} of {} cannot be written as MIL, which computes with int32; cast to int32 first",
       name, to_string(dtype));
}

const Recorder::Value& Recorder::input(const Node& out, size_t i) {
  record(*out.inputs[i]);
  return values_.at(out.inputs[i].get());
}

void Recorder::define(const Node& out, Value value) {
  const mil::DataType type = mil_type(out.dtype);
  if (value.type() != type) value = pippin::array::cast(value, type);
  bool fits = value.shape().size() == out.shape.size();
  const std::vector<const Node*> nodes = traces_.all(out);
  for (size_t axis = 0; fits && axis < out.shape.size(); ++axis) {
    const auto found = sizes_.evaluate(value.shape()[axis]);
    for (size_t k = 0; fits && k < nodes.size(); ++k) {
      fits = found && (*found)[k] == nodes[k]->shape[axis];
    }
  }
  if (!fits) value = reshaped(value, shape(out));
  for (const mil::Dim& size : value.shape()) sizes_.learn(size);
  values_.emplace(&out, std::move(value));
}

void Recorder::define_reshaped(const Node& out, const Value& value) {
  mil::Shape shape;
  std::optional<size_t> rest;
  for (size_t axis = 0; axis < out.shape.size(); ++axis) {
    const Get size = [axis](const Node& each) { return each.shape[axis]; };
    const auto found = find(out, size);
    if (found) {
      shape.push_back(*found);
    } else if (!rest) {
      rest = axis;
      shape.emplace_back(1);
    } else {
      dim(out, size);  // throws
    }
  }
  if (rest) shape[*rest] = floor_div(mil::num_elements(value.shape()), mil::num_elements(shape));
  define(out, reshaped(value, shape));
}

void Recorder::define_unary(const Node& out, std::string_view op) {
  define(out, one(op, {{"x", input(out, 0)}}));
}

void Recorder::define_binary(const Node& out, std::string_view op) {
  define(out, one(op, {{"x", input(out, 0)}, {"y", input(out, 1)}}));
}

void Recorder::record(Node& node) {
  if (knows(node)) return;
  if (node.is_available.load(std::memory_order_acquire)) {
    // If it differs between recordings, it is a number computed from sizes.
    values_.emplace(&node, is_constant(node) ? constant(node) : chosen_number(node));
    return;
  }
  if (!node.primitive) {
    fail(ErrorCode::InvalidArgument,
         "export: the outputs need a placeholder of shape {} that is not an input",
         to_string(node.shape));
  }
  node.primitive->record(*this, node);
}

std::optional<mil::Dim> Recorder::find(const Node& out, const Get& get) {
  std::vector<int64_t> values;
  for (const Node* node : traces_.all(out)) values.push_back(get(*node));
  return sizes_.find(values);
}

mil::Dim Recorder::dim(const Node& out, const Get& get) {
  if (auto found = find(out, get)) return *found;
  std::vector<int64_t> values;
  for (const Node* node : traces_.all(out)) values.push_back(get(*node));
  std::string listed;
  for (const int64_t value : values) listed += (listed.empty() ? "" : ", ") + std::to_string(value);
  fail(ErrorCode::Unsupported,
       "export: cannot express the numbers {} of {} in terms of the sizes ({})", listed,
       out.primitive ? out.primitive->name() : "an input", sizes_.to_string());
}

int64_t Recorder::number(const Node& out, const Get& get) {
  const mil::Dim found = dim(out, get);
  if (const auto number = found.try_constant()) return *number;
  fail(ErrorCode::Unsupported,
       "export: {} is written with a number that depends on the sizes ({}) here",
       out.primitive->name(), sizes_.to_string());
}

mil::Shape Recorder::shape(const Node& node) {
  const auto known = values_.find(&node);
  if (known != values_.end()) return known->second.shape();
  mil::Shape result;
  for (size_t axis = 0; axis < node.shape.size(); ++axis) {
    result.push_back(dim(node, [axis](const Node& each) { return each.shape[axis]; }));
  }
  return result;
}

bool Recorder::is_constant(const Node& node) const {
  return node.is_available.load(std::memory_order_acquire) &&
         (traces_.all(node).size() == 1 || traces_.is_fixed(node));
}

bool Recorder::always(const Node& out, const std::function<bool(const Node& out)>& holds) const {
  const std::vector<const Node*> nodes = traces_.all(out);
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) { return holds(*node); });
}

Recorder::Value Recorder::indices(const Node& out, size_t i, const mil::Dim& size) {
  const Node& node = *out.inputs[i];
  const Value& given = input(out, i);
  if (is_unsigned(node.dtype)) return given;
  if (is_constant(node)) {
    std::vector<int64_t> values(static_cast<size_t>(node.size));
    copy_to(node, reinterpret_cast<std::byte*>(values.data()), int64);
    const auto least = std::min_element(values.begin(), values.end());
    if (least == values.end() || *least >= 0) return given;
  }
  const Value behind = pippin::array::add(given, scalar(size));
  return pippin::array::select(pippin::array::less(given, pippin::array::constant(0)), behind,
                               given);
}

Recorder::Value Recorder::starts(const Node& out, size_t i, const std::vector<int>& axes,
                                 const mil::Shape& whole, const mil::Shape& part) {
  const Value given = reshaped(input(out, i), {static_cast<int64_t>(axes.size())});
  std::vector<Value> all;
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    const auto place = std::find(axes.begin(), axes.end(), static_cast<int>(axis));
    if (place == axes.end()) {
      all.push_back(pippin::array::constant(std::vector<int64_t>{0}));
      continue;
    }
    const int64_t at = place - axes.begin();
    const Value start = pippin::array::slice_axis(given, 0, at, at + 1);
    all.push_back(
        pippin::array::maximum(pippin::array::minimum(start, scalar(whole[axis] - part[axis])),
                               pippin::array::constant(0)));
  }
  return pippin::array::concat(all, 0);
}

Recorder::Value Recorder::chosen_number(const Node& node) {
  const auto value = [](const Node& each) {
    double number;
    copy_to(each, reinterpret_cast<std::byte*>(&number), float64);
    return number;
  };
  if (!always(node, [&](const Node& each) {
        const double number = value(each);
        return number == static_cast<double>(static_cast<int32_t>(number));
      })) {
    fail(ErrorCode::Unsupported,
         "export: the number {} was computed of sizes ({}); it has to be computed by operations on "
         "arrays",
         value(node), sizes_.to_string());
  }
  const mil::Dim size =
      dim(node, [&](const Node& each) { return static_cast<int64_t>(value(each)); });
  const Value number = pippin::array::cast(scalar(size), mil_type(node.dtype));
  return reshaped(number, mil::to_shape(to_vector(node.shape)));
}

Recorder::Value Recorder::number(const Value& like, double value) {
  return pippin::array::constant(like.type(), value);
}

Recorder::Value Recorder::scalar(const mil::Dim& dim) {
  return pippin::array::Builder::current().dim_array(dim);
}

Recorder::Value Recorder::vector(const mil::Shape& values) {
  return pippin::array::Builder::current().dims_array(values);
}

Recorder::Param Recorder::dims(std::string_view name, const mil::Shape& values) {
  if (const auto numbers = mil::constant_shape(values)) return {name, *numbers};
  return {name, vector(values)};
}

Recorder::Value Recorder::count(const mil::Dim& size) {
  return pippin::array::range(pippin::array::constant(0), scalar(size));
}

Recorder::Value Recorder::reshaped(const Value& value, const mil::Shape& shape) {
  if (value.shape() == shape) return value;
  if (shape.empty()) {
    std::vector<int64_t> axes(static_cast<size_t>(value.rank()));
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
    return pippin::array::squeeze(value, axes);
  }
  return pippin::array::reshape(value, shape);
}

Recorder::Value Recorder::broadcast(const Value& value, const mil::Shape& shape) {
  if (value.shape() == shape) return value;
  mil::Shape single(shape.size(), 1);
  std::copy(value.shape().begin(), value.shape().end(),
            single.end() - static_cast<int64_t>(value.shape().size()));
  mil::Shape repetitions;
  for (size_t i = 0; i < shape.size(); ++i) {
    repetitions.push_back(single[i] == mil::Dim(1) ? shape[i] : mil::Dim(1));
  }
  const Value same_rank = reshaped(value, single);
  const bool is_same = std::all_of(repetitions.begin(), repetitions.end(),
                                   [](const mil::Dim& times) { return times == mil::Dim(1); });
  return is_same ? same_rank : one("tile", {{"x", same_rank}, dims("reps", repetitions)});
}

Recorder::Value Recorder::one(std::string_view op, std::vector<Param> params) {
  return pippin::array::record_one(op, std::move(params));
}

}  // namespace pippin::mx
