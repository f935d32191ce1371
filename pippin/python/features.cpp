#include "pippin/python/features.h"

#include <string>
#include <vector>

#include <pybind11/stl.h>

namespace pippin::python {
namespace {

namespace py = pybind11;

const char* kind_of(const FeatureInfo& feature) {
  switch (feature.kind) {
    case FeatureInfo::Kind::MultiArray:
      return "multiarray";
    case FeatureInfo::Kind::Image:
      return "image";
    case FeatureInfo::Kind::Int64:
      return "int64";
    case FeatureInfo::Kind::Double:
      return "double";
    case FeatureInfo::Kind::String:
      return "string";
    case FeatureInfo::Kind::Dictionary:
      return "dictionary";
    case FeatureInfo::Kind::Sequence:
      return "sequence";
    case FeatureInfo::Kind::State:
      return "state";
  }
  return "";
}

const char* color_space_of(const FeatureInfo& feature) {
  if (!feature.color_space) return "";
  switch (*feature.color_space) {
    case ColorSpace::Grayscale:
      return "grayscale";
    case ColorSpace::Rgb:
      return "rgb";
    case ColorSpace::Bgr:
      return "bgr";
    case ColorSpace::GrayscaleFloat16:
      return "grayscale_float16";
  }
  return "";
}

py::list listed(const std::vector<FeatureInfo>& features) {
  py::list result;
  for (const FeatureInfo& feature : features) {
    py::list ranges, shapes;
    for (const SizeRange& range : feature.ranges) {
      ranges.append(py::make_tuple(range.lower, range.upper < 0 ? -1 : range.upper));
    }
    for (const auto& shape : feature.enumerated_shapes) shapes.append(py::tuple(py::cast(shape)));
    py::dict one;
    one["name"] = feature.name;
    one["description"] = feature.description;
    one["kind"] = kind_of(feature);
    one["type"] = std::string(to_string(feature.type));
    one["shape"] = py::tuple(py::cast(feature.shape));
    one["ranges"] = std::move(ranges);
    one["enumerated_shapes"] = std::move(shapes);
    one["optional"] = feature.optional;
    one["default_value"] = feature.default_value;
    one["color_space"] = color_space_of(feature);
    result.append(std::move(one));
  }
  return result;
}

}  // namespace

py::dict declared(const FunctionInfo& function) {
  py::dict result;
  result["name"] = function.name;
  result["inputs"] = listed(function.inputs);
  result["outputs"] = listed(function.outputs);
  result["states"] = listed(function.states);
  result["predicted_feature_name"] = function.predicted_feature_name;
  result["predicted_probabilities_name"] = function.predicted_probabilities_name;
  return result;
}

}  // namespace pippin::python
