#include "pippin/mil/package/interface.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/log.h"

namespace pippin::mil {
namespace {

constexpr std::string_view kAttribute = "FlexibleShapeInformation";

// The attribute's statements about one input; shapes in file order.
struct FlexibleShape {
  std::vector<int64_t> default_shape;
  std::vector<SizeRange> ranges;
  std::vector<std::vector<int64_t>> enumerated;
};
using FlexibleShapes = std::map<std::string, FlexibleShape, std::less<>>;

bool is_dictionary(const Value& value) {
  return value.type.kind == ValueType::Kind::Dictionary && value.elements.size() % 2 == 0;
}

std::vector<int64_t> read_sizes(const Value& value) {
  std::vector<int64_t> sizes = value.to_ints();
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    fail(ErrorCode::InvalidFile, "a negative dimension");
  }
  return sizes;
}

// Calls read(input name, value) for the entries of a dictionary.
template <typename Read>
void read_dictionary(const Value& dictionary, Read&& read) {
  if (!is_dictionary(dictionary)) fail(ErrorCode::InvalidFile, "not a dictionary");
  for (size_t i = 0; i < dictionary.elements.size(); i += 2) {
    read(dictionary.elements[i].to_string_value(), dictionary.elements[i + 1]);
  }
}

void read_entry(const std::string& key, const Value& value, FlexibleShapes& shapes) {
  if (key == "DefaultShapes") {
    read_dictionary(value, [&](const std::string& input, const Value& shape) {
      shapes[input].default_shape = read_sizes(shape);
    });
  } else if (key == "RangeDims") {
    read_dictionary(value, [&](const std::string& input, const Value& ranges) {
      for (const Value& range : ranges.elements) {
        const auto bounds = range.to_ints();
        if (bounds.size() != 2 || bounds[0] < 0) fail(ErrorCode::InvalidFile, "not a range");
        shapes[input].ranges.push_back({bounds[0], bounds[1]});
      }
    });
  } else if (key == "EnumeratedShapes") {
    // Each combination has its own key and maps inputs to shapes.
    read_dictionary(value, [&](const std::string&, const Value& combination) {
      read_dictionary(combination, [&](const std::string& input, const Value& shape) {
        auto& enumerated = shapes[input].enumerated;
        auto sizes = read_sizes(shape);
        if (std::find(enumerated.begin(), enumerated.end(), sizes) == enumerated.end()) {
          enumerated.push_back(std::move(sizes));
        }
      });
    });
  }
}

// A tuple of tuples (key, value); any other form is ignored.
FlexibleShapes read_flexible_shapes(const Function& function) {
  const auto it = function.attributes.find(kAttribute);
  if (it == function.attributes.end()) return {};
  try {
    FlexibleShapes shapes;
    for (const Value& entry : it->second.elements) {
      if (entry.elements.size() != 2) fail(ErrorCode::InvalidFile, "an entry without a value");
      read_entry(entry.elements[0].to_string_value(), entry.elements[1], shapes);
    }
    return shapes;
  } catch (const Error& error) {
    log_debug("{}: {}; not used", kAttribute, error.what());
    return {};
  }
}

void apply(const FlexibleShape& shape, Feature& feature) {
  const size_t rank = feature.ranges.empty() ? feature.shape.size() : feature.ranges.size();
  if (shape.default_shape.size() == rank) feature.shape = shape.default_shape;
  const bool ranks_agree = std::all_of(shape.enumerated.begin(), shape.enumerated.end(),
                                       [&](const auto& sizes) { return sizes.size() == rank; });
  if (shape.ranges.size() == rank) {
    feature.ranges = shape.ranges;
  } else if (!shape.enumerated.empty() && ranks_agree) {
    feature.ranges.clear();
    feature.enumerated_shapes = shape.enumerated;
  }
}

Feature feature_of(const std::string& name, const ValueType& type) {
  Feature feature;
  feature.name = name;
  const ValueType& tensor = type.is_state() ? type.parameters.at(0) : type;
  if (type.is_state()) feature.kind = Feature::Kind::State;
  if (type.kind == ValueType::Kind::List) feature.kind = Feature::Kind::Sequence;
  if (type.kind == ValueType::Kind::Dictionary) {
    feature.kind = Feature::Kind::Dictionary;
    feature.string_keys = type.parameters.at(0).data_type == DataType::String;
  }
  if (!tensor.is_tensor()) return feature;
  if (tensor.data_type == DataType::String) feature.kind = Feature::Kind::String;
  if (tensor.data_type == DataType::Int64 && tensor.dims.empty()) {
    feature.kind = Feature::Kind::Int64;
  }
  feature.data_type = tensor.data_type;
  if (tensor.is_static()) {
    feature.shape = tensor.dims;
    return feature;
  }
  for (const int64_t dim : tensor.dims) {
    feature.ranges.push_back(dim < 0 ? SizeRange{0, -1} : SizeRange{dim, dim});
  }
  return feature;
}

}  // namespace

Model describe_program(Program program) {
  Model model;
  model.multifunction = program.functions.size() > 1 || program.functions.count("main") == 0;
  model.specification_version = 0;
  for (const auto& [name, function] : program.functions) {
    FunctionDescription description;
    description.name = name;
    const FlexibleShapes shapes = read_flexible_shapes(*function);
    for (const auto& input : function->inputs) {
      auto& features = input->type.is_state() ? description.states : description.inputs;
      Feature& feature = features.emplace_back(feature_of(input->name, input->type));
      const auto it = shapes.find(input->name);
      if (it != shapes.end()) apply(it->second, feature);
      // Interfaces have no scalars; see Core ML's rule for rank 0.
      if (feature.shape.empty() && feature.ranges.empty()) feature.shape = {1};
    }
    for (const Var* output : function->block().outputs()) {
      description.outputs.push_back(feature_of(output->name, output->type));
    }
    model.specification_version =
        std::max(model.specification_version, specification_version(function->opset_version()));
    model.functions.push_back(std::move(description));
  }
  if (model.multifunction && !model.functions.empty()) {
    model.default_function = model.functions.front().name;
    // Multiple functions need iOS 18 at least.
    model.specification_version =
        std::max(model.specification_version, specification_version(Opset::CoreML8));
  }
  model.program = std::move(program);
  return model;
}

void drop_flexible_shapes(Program& program) {
  for (const auto& [name, function] : program.functions) {
    const auto it = function->attributes.find(kAttribute);
    if (it != function->attributes.end()) function->attributes.erase(it);
  }
}

}  // namespace pippin::mil
