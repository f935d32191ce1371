#include "pippin/api/tabular_value.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/api/elements.h"
#include "pippin/api/feature.h"
#include "pippin/base/error.h"

namespace pippin::api {
namespace {

tabular::Dictionary tabular_dictionary(const Dictionary& dictionary) {
  tabular::Dictionary result;
  if (dictionary.keys.type() == DataType::String) {
    result.keys = dictionary.keys.strings();
  } else {
    const Tensor keys = dictionary.keys.to(DataType::Int64).copy();
    result.keys = std::vector<int64_t>(keys.data<int64_t>().begin(), keys.data<int64_t>().end());
  }
  result.values = dictionary.values.to_doubles();
  const size_t keys = std::visit([](const auto& list) { return list.size(); }, result.keys);
  if (keys != result.values.size()) {
    fail(ErrorCode::InvalidArgument, "a dictionary of {} keys and {} values", keys,
         result.values.size());
  }
  return result;
}

std::vector<int64_t> without_ones(std::vector<int64_t> shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

// Ignores axes of length 1, as Core ML does for these models: returns the declared shape if the
// other axes match.
std::vector<int64_t> fitting_shape(const FeatureInfo& feature, const std::vector<int64_t>& shape) {
  const bool same = !feature.shape.empty() && feature.ranges.empty() &&
                    feature.enumerated_shapes.empty() &&
                    without_ones(shape) == without_ones(feature.shape);
  return same ? feature.shape : shape;
}

tabular::Value tabular_tensor(const FeatureInfo& feature, const Tensor& tensor) {
  switch (feature.kind) {
    case FeatureInfo::Kind::String:
      return tensor.strings().front();
    case FeatureInfo::Kind::Int64: {
      const Tensor number = tensor.to(DataType::Int64).copy();
      return number.data<int64_t>().front();
    }
    case FeatureInfo::Kind::Double:
      return tensor.to_doubles().front();
    default: {
      // Rounded to the declared precision, as in an array of that type.
      const Tensor declared = tensor.to(feature.type);
      return tabular::Array{tensor.shape(), declared.to_doubles()};
    }
  }
}

Value public_array(const FeatureInfo& feature, tabular::Array array) {
  const Tensor doubles = Tensor::from(array.values, std::move(array.shape));
  if (feature.type == DataType::Float64) return doubles;
  Tensor result(feature.type, doubles.shape());
  elements::convert(DataType::Float64, doubles.bytes(), feature.type, result.bytes(), false);
  return result;
}

Value public_dictionary(const tabular::Dictionary& dictionary) {
  const auto size = static_cast<int64_t>(dictionary.values.size());
  Dictionary result;
  result.values = Tensor::from(dictionary.values, {size});
  if (const auto* texts = std::get_if<std::vector<std::string>>(&dictionary.keys)) {
    result.keys = Tensor::from_strings(*texts, {size});
  } else {
    result.keys = Tensor::from(std::get<std::vector<int64_t>>(dictionary.keys), {size});
  }
  return result;
}

}  // namespace

tabular::Value to_tabular(const FeatureInfo& feature, const Value& value) {
  if (const auto* array = std::get_if<Tensor>(&value);
      array != nullptr && feature.kind == FeatureInfo::Kind::MultiArray) {
    const std::vector<int64_t> shape = fitting_shape(feature, array->shape());
    if (shape != array->shape()) return to_tabular(feature, array->reshaped(shape));
  }
  check_input(feature, value);
  if (const auto* dictionary = std::get_if<Dictionary>(&value)) {
    return tabular_dictionary(*dictionary);
  }
  const auto* tensor = std::get_if<Tensor>(&value);
  if (tensor == nullptr) {
    fail(ErrorCode::Unsupported, "inputs of the kind \"{}\" are not supported by this model",
         to_string(feature));
  }
  return tabular_tensor(feature, *tensor);
}

Value from_tabular(const FeatureInfo& feature, tabular::Value value) {
  if (auto* array = std::get_if<tabular::Array>(&value)) {
    return public_array(feature, std::move(*array));
  }
  if (const auto* dictionary = std::get_if<tabular::Dictionary>(&value)) {
    return public_dictionary(*dictionary);
  }
  if (auto* text = std::get_if<std::string>(&value)) {
    return Tensor::from_strings({std::move(*text)}, {1});
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return Tensor::from(std::vector<int64_t>{*whole}, {1}).to(feature.type);
  }
  return Tensor::from(std::vector<double>{tabular::to_number(value)}, {1}).to(feature.type);
}

}  // namespace pippin::api
