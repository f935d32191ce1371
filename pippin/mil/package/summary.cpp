#include "pippin/mil/package/summary.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/columns.h"
#include "pippin/base/text.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/summary_parts.h"
#include "pippin/mil/package/weight_counts.h"
#include "pippin/mil/walk.h"

namespace pippin::mil {
namespace {

using Counts = std::vector<std::pair<std::string, int64_t>>;

// Sorted by frequency, highest first.
Counts count_operations(const Function& function) {
  std::map<std::string, int64_t> by_type;
  for_each_operation(function.block(), [&](const Operation& op) { ++by_type[op.type()]; });
  Counts counts(by_type.begin(), by_type.end());
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

std::string kind_name(const Feature& feature) {
  switch (feature.kind) {
    case Feature::Kind::MultiArray:
    case Feature::Kind::State:
      return std::string(to_string(feature.data_type));
    case Feature::Kind::Image:
      return "image";
    case Feature::Kind::Int64:
      return "int64";
    case Feature::Kind::Double:
      return "double";
    case Feature::Kind::String:
      return "string";
    case Feature::Kind::Dictionary:
      return "dictionary";
    case Feature::Kind::Sequence:
      return "sequence";
  }
  return {};
}

std::string spell_range(const SizeRange& range) {
  if (range.upper < 0) return fmt::format("{}..", range.lower);
  if (range.upper == range.lower) return std::to_string(range.lower);
  return fmt::format("{}..{}", range.lower, range.upper);
}

std::string_view color_space_name(ColorSpace color_space) {
  switch (color_space) {
    case ColorSpace::Grayscale:
      return "grayscale";
    case ColorSpace::Rgb:
      return "RGB";
    case ColorSpace::Bgr:
      return "BGR";
    case ColorSpace::GrayscaleFloat16:
      return "grayscale float16";
    case ColorSpace::Unknown:
      break;
  }
  return "unknown colors";
}

// "RGB 224 x 224", width first.
std::string spell_image(const ImageType& image) {
  std::vector<std::string> sizes;
  for (const ImageSize& size : image.enumerated_sizes) {
    sizes.push_back(fmt::format("{} x {}", size.width, size.height));
  }
  if (image.width_range && image.height_range) {
    sizes = {
        fmt::format("{} x {}", spell_range(*image.width_range), spell_range(*image.height_range))};
  }
  if (sizes.empty()) sizes = {fmt::format("{} x {}", image.size.width, image.size.height)};
  return fmt::format("{} {}", color_space_name(image.color_space), fmt::join(sizes, " or "));
}

std::string spell_optional(const Feature& feature) {
  if (!feature.optional) return "";
  const auto spell = [](const auto& value) -> std::string {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
      return "optional";
    } else {
      return fmt::format("optional, {}", value);
    }
  };
  return std::visit(spell, feature.default_value);
}

std::string spell_shape(const Feature& feature) {
  if (feature.kind == Feature::Kind::Image) return spell_image(feature.image);
  if (feature.kind != Feature::Kind::MultiArray && feature.kind != Feature::Kind::State) return "";
  std::vector<std::string> parts;
  if (!feature.enumerated_shapes.empty()) {
    for (const auto& shape : feature.enumerated_shapes) {
      parts.push_back(fmt::format("[{}]", fmt::join(shape, ", ")));
    }
    return fmt::format("{}", fmt::join(parts, " or "));
  }
  if (feature.ranges.empty()) return fmt::format("[{}]", fmt::join(feature.shape, ", "));
  for (const SizeRange& range : feature.ranges) parts.push_back(spell_range(range));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string features_text(std::string_view title, const std::vector<Feature>& features) {
  if (features.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  rows.reserve(features.size());
  for (const Feature& feature : features) {
    rows.push_back({one_line(feature.name), kind_name(feature), spell_shape(feature),
                    spell_optional(feature), one_line(feature.description)});
  }
  return fmt::format("  {}\n{}", title, in_columns(rows, "    "));
}

// The labels of a classifier's or detector's classes, or null.
const Value* class_labels(const Function& function) {
  const Value* labels = nullptr;
  for_each_operation(function.block(), [&](const Operation& op) {
    const Value* value = op.constant_input("classes");
    if (value != nullptr && value->type.kind == ValueType::Kind::List) labels = value;
  });
  return labels;
}

bool is_text(const Value& label) {
  return label.type.data_type == DataType::String;
}

std::string classes_text(const Function& function) {
  const Value* labels = class_labels(function);
  if (labels == nullptr) return "";
  std::vector<std::string> texts;
  texts.reserve(labels->elements.size());
  for (const Value& label : labels->elements) {
    texts.push_back(is_text(label) ? one_line(label.to_string_value())
                                   : fmt::format("{}", fmt::join(label.to_ints(), " ")));
  }
  return class_lines(texts);
}

std::string function_text(const Model& model, const FunctionDescription& description,
                          const std::string& title) {
  const Function& function = model.program.function(description.name);
  const Counts counts = count_operations(function);
  int64_t total = 0;
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts) {
    total += count;
    parts.push_back(fmt::format("{} {}", type, count));
  }
  const bool is_default = model.multifunction && description.name == model.default_function;
  std::string result = fmt::format("\n{}function {} ({}{})\n", title, one_line(description.name),
                                   one_line(function.opset), is_default ? ", default" : "");
  result += features_text("inputs", description.inputs);
  result += features_text("states", description.states);
  result += features_text("outputs", description.outputs);
  result += classes_text(function);
  return result + fmt::format("  operations ({})\n", total) + wrapped(parts);
}

std::vector<std::vector<std::string>> metadata_rows(const Metadata& metadata) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) rows.push_back({one_line(std::string(key)), one_line(value)});
  };
  add("description", metadata.short_description);
  add("version", metadata.version);
  add("author", metadata.author);
  add("license", metadata.license);
  for (const auto& [key, value] : metadata.user_defined) add(key, value);
  return rows;
}

void write_range(JsonWriter& json, const SizeRange& range) {
  json.begin_array().value(range.lower);
  if (range.upper < 0) {
    json.value(nullptr);  // unbounded
  } else {
    json.value(range.upper);
  }
  json.end_array();
}

void write_image(JsonWriter& json, const ImageType& image) {
  json.key("image").begin_object();
  json.member("width", image.size.width).member("height", image.size.height);
  json.member("color_space", color_space_name(image.color_space));
  if (image.width_range && image.height_range) {
    json.key("width_range");
    write_range(json, *image.width_range);
    json.key("height_range");
    write_range(json, *image.height_range);
  }
  if (!image.enumerated_sizes.empty()) {
    json.key("enumerated_sizes").begin_array();
    for (const ImageSize& size : image.enumerated_sizes) {
      json.begin_array().value(size.width).value(size.height).end_array();
    }
    json.end_array();
  }
  json.end_object();
}

void write_feature(JsonWriter& json, const Feature& feature) {
  json.begin_object().member("name", feature.name).member("type", kind_name(feature));
  json.member("shape", feature.shape);
  if (!feature.ranges.empty()) {
    json.key("ranges").begin_array();
    for (const SizeRange& range : feature.ranges) write_range(json, range);
    json.end_array();
  }
  if (!feature.enumerated_shapes.empty()) {
    json.member("enumerated_shapes", feature.enumerated_shapes);
  }
  if (feature.kind == Feature::Kind::Image) write_image(json, feature.image);
  json.member("optional", feature.optional);
  if (const auto* integer = std::get_if<int64_t>(&feature.default_value)) {
    json.member("default", *integer);
  } else if (const auto* single = std::get_if<float>(&feature.default_value)) {
    json.member("default", static_cast<double>(*single));
  } else if (const auto* full = std::get_if<double>(&feature.default_value)) {
    json.member("default", *full);
  }
  json.member("description", feature.description).end_object();
}

void write_features(JsonWriter& json, std::string_view key, const std::vector<Feature>& features) {
  json.key(key).begin_array();
  for (const Feature& feature : features) write_feature(json, feature);
  json.end_array();
}

// The functions of a program, a tabular model, or the stages of a pipeline; `title` names the
// model.
std::string body_text(const Model& model, const std::string& title) {
  std::string result;
  if (model.is_tabular()) {
    const FunctionDescription& own = model.description(model.default_function);
    result += fmt::format("\n{}{}\n", title, to_string(model.kind));
    result += features_text("inputs", own.inputs) + features_text("outputs", own.outputs);
    return result + tabular_text(model);
  }
  if (!model.is_pipeline()) {
    for (const FunctionDescription& description : model.functions) {
      result += function_text(model, description, title);
    }
    return result;
  }
  const FunctionDescription& own = model.description(model.default_function);
  result += fmt::format("\n{}{} of {} {}\n", title, to_string(model.kind), model.stages.size(),
                        model.stages.size() == 1 ? "stage" : "stages");
  result += features_text("inputs", own.inputs) + features_text("outputs", own.outputs);
  for (size_t i = 0; i < model.stages.size(); ++i) {
    result += body_text(model.stages[i].model, title + one_line(stage_name(model, i)) + ": ");
  }
  return result;
}

void write_classes(JsonWriter& json, const Function& function) {
  const Value* labels = class_labels(function);
  if (labels == nullptr) return;
  json.key("classes").begin_array();
  for (const Value& label : labels->elements) {
    if (is_text(label)) {
      json.value(label.to_string_value());
    } else {
      for (const int64_t number : label.to_ints()) json.value(number);
    }
  }
  json.end_array();
}

void write_body(JsonWriter& json, const Model& model) {
  const bool network = !model.network_kind.empty();
  json.member("kind", network ? model.network_kind : to_string(model.kind));
  json.member("specification_version",
              network ? model.network_version : model.specification_version);
  json.member("multifunction", model.multifunction);
  json.member("default_function", model.default_function);
  json.key("functions").begin_array();
  for (const FunctionDescription& description : model.functions) {
    json.begin_object().member("name", description.name);
    if (model.has_program()) {
      json.member("opset", model.program.function(description.name).opset);
    }
    write_features(json, "inputs", description.inputs);
    write_features(json, "states", description.states);
    write_features(json, "outputs", description.outputs);
    if (model.is_tabular()) write_tabular(json, model);
    if (model.has_program()) {
      const Function& function = model.program.function(description.name);
      write_classes(json, function);
      json.key("operations").begin_object();
      for (const auto& [type, count] : count_operations(function)) {
        json.member(type, count);
      }
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  if (!model.is_pipeline()) return;
  json.key("stages").begin_array();
  for (const PipelineStage& stage : model.stages) {
    json.begin_object().member("name", stage.name);
    write_body(json, stage.model);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string summary_text(const Model& model) {
  const auto path = model.path.has_filename() ? model.path : model.path.parent_path();
  const WeightCounts weights = count_weights(model);
  const bool network = !model.network_kind.empty();
  std::string result = fmt::format(
      "{}: {}, specification version {}, {} of weights\n", one_line(path.filename().string()),
      network ? model.network_kind : to_string(model.kind),
      network ? model.network_version : model.specification_version, format_bytes(weights.bytes));
  result += body_text(model, "");
  if (!weights.groups.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [type, group] : weights.groups) {
      rows.push_back(
          {std::string(to_string(type)), format_bytes(group.bytes),
           fmt::format("{} {}", group.tensors, group.tensors == 1 ? "tensor" : "tensors"),
           fmt::format("{} elements", group.elements)});
    }
    result += "\nweights\n" + in_columns(rows, "  ");
    for (const std::string& file : weights.absent_files) {
      result += fmt::format("  absent: {}\n", one_line(file));
    }
  }
  const auto rows = metadata_rows(model.metadata);
  if (!rows.empty()) result += "\nmetadata\n" + in_columns(rows, "  ");
  return result;
}

std::string spell_type(const Feature& feature) {
  std::string text = kind_name(feature);
  for (const std::string& part : {spell_shape(feature), spell_optional(feature)}) {
    if (!part.empty()) text += fmt::format(" {}", part);
  }
  return text;
}

std::string summary_json(const Model& model) {
  JsonWriter json(2);
  json.begin_object();
  json.member("path", model.path.string());
  write_body(json, model);
  const WeightCounts weights = count_weights(model);
  json.key("weights").begin_object().member("bytes", weights.bytes).key("types").begin_array();
  for (const auto& [type, group] : weights.groups) {
    json.begin_object().member("type", to_string(type)).member("tensors", group.tensors);
    json.member("elements", group.elements).member("bytes", group.bytes).end_object();
  }
  json.end_array().key("absent_files").begin_array();
  for (const std::string& file : weights.absent_files) json.value(file);
  json.end_array().end_object();
  const Metadata& metadata = model.metadata;
  json.key("metadata").begin_object();
  json.member("short_description", metadata.short_description);
  json.member("version", metadata.version).member("author", metadata.author);
  json.member("license", metadata.license).key("user_defined").begin_object();
  for (const auto& [key, value] : metadata.user_defined) json.member(key, value);
  json.end_object().end_object().end_object();
  return json.text() + "\n";
}

}  // namespace pippin::mil
