#include "pippin/mil/package/metadata_json.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/io/json.h"

namespace pippin::mil {
namespace {

constexpr std::string_view kTypePrefix = "MLModelType_";

// The file is an array of one object.
Json the_model(const Json& json) {
  if (!json.is_array()) return json;
  if (json.size() != 1) {
    fail(ErrorCode::InvalidFile, "{}: {} models, expected one", json.where(), json.size());
  }
  return json.at(size_t{0});
}

// Most values are strings: "1" for true, "[1, 10]" for a shape.
bool get_flag(const Json& json, std::string_view key) {
  const auto value = json.find(key);
  if (!value) return false;
  if (value->is_bool()) return value->as_bool();
  if (value->is_integer()) return value->as_int() != 0;
  return value->as_string() == "1" || value->as_string() == "true";
}

// The JSON inside a string, or the value itself if it is not a string; nullopt if it is absent.
std::optional<Json> find_inner(const Json& json, std::string_view key) {
  auto value = json.find(key);
  if (!value || !value->is_string()) return value;
  if (value->as_string().empty()) return std::nullopt;
  return Json::parse(value->as_string(), value->where(), {.max_values = 100000});
}

int64_t get_number(const Json& json, std::string_view key, int64_t fallback) {
  const auto value = find_inner(json, key);
  return value ? value->as_int() : fallback;
}

std::vector<int64_t> read_sizes(const Json& json) {
  std::vector<int64_t> sizes = json.as_ints();
  for (const int64_t size : sizes) {
    if (size < 0) fail(ErrorCode::InvalidFile, "{}: a dimension of {}", json.where(), size);
  }
  return sizes;
}

// [[1, 1], [1, 512]]; an upper bound below 0 means none.
std::vector<SizeRange> read_ranges(const Json& json) {
  std::vector<SizeRange> ranges;
  for (const Json& item : json.elements()) {
    const auto bounds = item.as_ints();
    if (bounds.size() != 2 || bounds[0] < 0) {
      fail(ErrorCode::InvalidFile, "{}: not a range", item.where());
    }
    ranges.push_back({bounds[0], bounds[1]});
  }
  return ranges;
}

DataType read_data_type(const Json& json) {
  struct Row {
    std::string_view name;
    DataType type;
  };
  static constexpr Row kRows[] = {{"Float16", DataType::Float16}, {"Float32", DataType::Float32},
                                  {"Double", DataType::Float64},  {"Float64", DataType::Float64},
                                  {"Int32", DataType::Int32},     {"Int8", DataType::Int8}};
  const std::string name = json.get_string("dataType");
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  fail(ErrorCode::InvalidFile, "{}: unknown data type '{}'", json.where(), name);
}

void read_array(const Json& json, Feature& feature) {
  feature.data_type = read_data_type(json);
  if (const auto shape = find_inner(json, "shape")) feature.shape = read_sizes(*shape);
  if (const auto ranges = find_inner(json, "shapeRange")) feature.ranges = read_ranges(*ranges);
  if (const auto shapes = find_inner(json, "enumeratedShapes")) {
    for (const Json& shape : shapes->elements()) {
      feature.enumerated_shapes.push_back(read_sizes(shape));
    }
  }
}

ColorSpace read_color_space(const Json& json) {
  const std::string name = json.get_string_or("colorspace", "");
  if (name == "RGB") return ColorSpace::Rgb;
  if (name == "BGR") return ColorSpace::Bgr;
  if (name == "Grayscale") return ColorSpace::Grayscale;
  if (name.rfind("Grayscale", 0) == 0) return ColorSpace::GrayscaleFloat16;
  fail(ErrorCode::InvalidFile, "{}: unknown color space '{}'", json.where(), name);
}

void read_image(const Json& json, ImageType& image) {
  image.size = {get_number(json, "width", 0), get_number(json, "height", 0)};
  if (image.size.width < 0 || image.size.height < 0) {
    fail(ErrorCode::InvalidFile, "{}: an image of {} by {}", json.where(), image.size.width,
         image.size.height);
  }
  image.color_space = read_color_space(json);
  if (const auto sizes = find_inner(json, "enumeratedSizes")) {
    for (const Json& item : sizes->elements()) {
      const auto size = read_sizes(item);
      if (size.size() != 2) fail(ErrorCode::InvalidFile, "{}: not an image size", item.where());
      image.enumerated_sizes.push_back({size[0], size[1]});
    }
  }
  if (const auto found = find_inner(json, "sizeRange")) {
    const auto ranges = read_ranges(*found);
    if (ranges.size() != 2) fail(ErrorCode::InvalidFile, "{}: not two ranges", found->where());
    image.width_range = ranges[0];
    image.height_range = ranges[1];
  }
}

Feature read_feature(const Json& json) {
  Feature feature;
  feature.name = json.get_string("name");
  feature.description = json.get_string_or("shortDescription", "");
  feature.optional = get_flag(json, "isOptional");
  const std::string type = json.get_string("type");
  if (type == "MultiArray") {
    read_array(json, feature);
  } else if (type == "State") {
    feature.kind = Feature::Kind::State;
    read_array(json, feature);
  } else if (type == "Image") {
    feature.kind = Feature::Kind::Image;
    read_image(json, feature.image);
  } else if (type == "Dictionary") {
    feature.kind = Feature::Kind::Dictionary;
    feature.string_keys = json.get_string_or("keyType", "") == "String";
  } else if (type == "String") {
    feature.kind = Feature::Kind::String;
  } else if (type == "Int64") {
    feature.kind = Feature::Kind::Int64;
  } else if (type == "Double") {
    feature.kind = Feature::Kind::Double;
  } else {
    fail(ErrorCode::InvalidFile, "{}: a feature of type '{}'", json.where(), type);
  }
  return feature;
}

std::vector<Feature> read_features(const Json& json, std::string_view key) {
  std::vector<Feature> features;
  const auto list = json.find(key);
  if (!list) return features;
  for (const Json& item : list->elements()) features.push_back(read_feature(item));
  return features;
}

FunctionDescription read_function(const Json& json, std::string name) {
  FunctionDescription function;
  function.name = std::move(name);
  function.inputs = read_features(json, "inputSchema");
  function.outputs = read_features(json, "outputSchema");
  function.states = read_features(json, "stateSchema");
  function.predicted_feature_name = json.get_string_or("predictedFeatureName", "");
  function.predicted_probabilities_name = json.get_string_or("predictedProbabilitiesName", "");
  return function;
}

}  // namespace

Model parse_metadata(const Json& json) {
  const Json source = the_model(json);
  Model model;
  const int64_t version = get_number(source, "specificationVersion", 0);
  if (version < 1 || version > 1000) {
    fail(ErrorCode::InvalidFile, "{}: specification version {}", source.where(), version);
  }
  model.specification_version = static_cast<int32_t>(version);
  const auto functions = source.find("functions");
  model.multifunction = functions && functions->size() > 0;
  if (model.multifunction) {
    for (const Json& function : functions->elements()) {
      model.functions.push_back(read_function(function, function.get_string("name")));
    }
    model.default_function =
        source.get_string_or("defaultFunctionName", model.functions.front().name);
  } else {
    model.functions.push_back(read_function(source, "main"));
  }
  model.metadata.short_description = source.get_string_or("shortDescription", "");
  model.metadata.version = source.get_string_or("version", "");
  model.metadata.author = source.get_string_or("author", "");
  model.metadata.license = source.get_string_or("license", "");
  if (const auto user_defined = source.find("userDefinedMetadata")) {
    for (const auto& [key, value] : user_defined->members()) {
      model.metadata.user_defined[std::string(key)] =
          value.is_string() ? std::string(value.as_string()) : value.dump();
    }
  }
  return model;
}

std::string metadata_model_type(const Json& json) {
  const auto type = the_model(json).find("modelType");
  if (!type || !type->is_object()) return "";
  std::string name = type->get_string_or("name", "");
  if (name.rfind(kTypePrefix, 0) == 0) name.erase(0, kTypePrefix.size());
  return name;
}

}  // namespace pippin::mil
