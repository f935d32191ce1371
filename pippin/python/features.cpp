#include "pippin/python/features.h"

#include <string>
#include <utility>

#include <pybind11/stl.h>

#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"

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

const char* color_space_name(const FeatureInfo& feature) {
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

py::object color_space_of(const FeatureInfo& feature) {
  if (!feature.color_space) return py::none();
  return py::str(color_space_name(feature));
}

// ((1, 1), (1, None)): the smallest and largest size of each axis, None for any.
py::tuple ranges_of(const FeatureInfo& feature) {
  py::tuple ranges(feature.ranges.size());
  for (size_t i = 0; i < feature.ranges.size(); ++i) {
    const SizeRange& range = feature.ranges[i];
    const py::object upper =
        range.upper < 0 ? py::object(py::none()) : py::object(py::int_(range.upper));
    ranges[i] = py::make_tuple(range.lower, upper);
  }
  return ranges;
}

py::tuple enumerated_of(const FeatureInfo& feature) {
  py::tuple shapes(feature.enumerated_shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    shapes[i] = py::tuple(py::cast(feature.enumerated_shapes[i]));
  }
  return shapes;
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
    one["color_space"] = color_space_name(feature);
    result.append(std::move(one));
  }
  return result;
}

}  // namespace

py::dict features_by_name(const std::vector<FeatureInfo>& features) {
  py::dict result;
  for (const FeatureInfo& feature : features) result[py::str(feature.name)] = py::cast(feature);
  return result;
}

py::dict descriptions_by_name(const std::vector<FeatureInfo>& features) {
  py::dict result;
  for (const FeatureInfo& feature : features) {
    result[py::str(feature.name)] = to_string(feature);
  }
  return result;
}

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

void bind_features(py::module_& module) {
  py::class_<FeatureInfo>(module, "FeatureInfo", docs::kFeatureInfo)
      .def_readonly("name", &FeatureInfo::name, "The name for predict().")
      .def_readonly("description", &FeatureInfo::description,
                    "The author's description; may be empty.")
      .def_property_readonly("kind", &kind_of,
                             "\"multiarray\", \"image\", \"int64\", \"double\", \"string\", "
                             "\"dictionary\", \"sequence\" or \"state\".")
      .def_property_readonly(
          "type", [](const FeatureInfo& feature) { return std::string(to_string(feature.type)); },
          "The elements' type, \"float32\" ...; of a dictionary its keys'.")
      .def_property_readonly(
          "shape", [](const FeatureInfo& feature) { return py::tuple(py::cast(feature.shape)); },
          "The default shape, or ().")
      .def_property_readonly("ranges", &ranges_of,
                             "The smallest and largest size of each axis (None: any), or ().")
      .def_property_readonly("enumerated_shapes", &enumerated_of,
                             "The only shapes that are allowed, or ().")
      .def_readonly("optional", &FeatureInfo::optional, "Whether an input may be left out.")
      .def_readonly("default_value", &FeatureInfo::default_value,
                    "The value of an optional input that is left out.")
      .def_property_readonly(
          "color_space", &color_space_of,
          "\"rgb\", \"bgr\", \"grayscale\" or \"grayscale_float16\" of an image, "
          "else None.")
      .def("__str__", [](const FeatureInfo& feature) { return to_string(feature); })
      .def("__repr__", [](const FeatureInfo& feature) {
        return "FeatureInfo(" + feature.name + ": " + to_string(feature) + ")";
      });
}

}  // namespace pippin::python
