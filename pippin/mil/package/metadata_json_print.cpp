// metadata.json as Core ML's compiler writes it: most values are strings.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/io/json.h"
#include "pippin/mil/package/metadata_json.h"
#include "pippin/mil/proto/serialize.h"

namespace pippin::mil {
namespace {

// Indexed by specification version, from 1.
struct Availability {
  std::string_view ios, macos, tvos, visionos, watchos, catalyst;
};
constexpr std::array<Availability, 10> kAvailability = {{
    {"11.0", "10.13", "11.0", "1.0", "4.0", "11.0"},
    {"11.2", "10.13.2", "11.2", "1.0", "4.2", "11.2"},
    {"12.0", "10.14", "12.0", "1.0", "5.0", "12.0"},
    {"13.0", "10.15", "13.0", "1.0", "6.0", "13.0"},
    {"14.0", "11.0", "14.0", "1.0", "7.0", "14.0"},
    {"15.0", "12.0", "15.0", "1.0", "8.0", "15.0"},
    {"16.0", "13.0", "16.0", "1.0", "9.0", "16.0"},
    {"17.0", "14.0", "17.0", "1.0", "10.0", "17.0"},
    {"18.0", "15.0", "18.0", "2.0", "11.0", "18.0"},
    {"26.0", "26.0", "26.0", "26.0", "26.0", "26.0"},
}};

char upper(char c) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

std::string data_type_name(DataType type) {
  switch (type) {
    case DataType::Float16:
      return "Float16";
    case DataType::Float32:
      return "Float32";
    case DataType::Float64:
      return "Double";
    case DataType::BFloat16:
      return "BFloat16";
    case DataType::Bool:
      return "Bool";
    case DataType::String:
      return "String";
    default:
      break;
  }
  std::string name(to_string(type));
  const size_t capitals = name.starts_with('u') ? 2 : 1;
  for (size_t i = 0; i < capitals; ++i) name[i] = upper(name[i]);
  return name;
}

template <typename Items, typename TextOf>
std::string joined(const Items& items, std::string_view separator, TextOf&& text_of) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    text += text_of(item);
  }
  return text;
}

std::string size_text(const std::vector<int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

std::string sizes_text(const std::vector<std::vector<int64_t>>& all) {
  return "[" + joined(all, ", ", size_text) + "]";
}

std::string ranges_text(const std::vector<SizeRange>& ranges) {
  return "[" +
         joined(ranges, ", ",
                [](const SizeRange& range) {
                  return fmt::format("[{}, {}]", range.lower, range.upper);
                }) +
         "]";
}

// "1 × 3...8", "1..."
std::string flexibility_text(const std::vector<SizeRange>& ranges) {
  return joined(ranges, " × ", [](const SizeRange& range) {
    std::string text = std::to_string(range.lower);
    if (range.upper == range.lower) return text;
    text += "...";
    return range.upper < 0 ? text : text + std::to_string(range.upper);
  });
}

std::string sizes_flexibility(const std::vector<std::vector<int64_t>>& all) {
  return joined(all, " | ",
                [](const auto& sizes) { return fmt::format("{}", fmt::join(sizes, " × ")); });
}

class MetadataPrinter {
 public:
  std::string print(const Model& model, const std::string& class_name) {
    json_.begin_array().begin_object();
    print_texts(model.metadata);
    json_.member("metadataOutputVersion", "3.0");
    print_function(model, model.functions.front(), true);
    if (model.multifunction) print_functions(model);
    json_.key("modelParameters").begin_array().end_array();
    json_.member("specificationVersion", model.specification_version);
    json_.member("isUpdatable", "0");
    print_availability(model.specification_version);
    json_.key("modelType").begin_object();
    print_type(model);
    json_.end_object().key("userDefinedMetadata").begin_object();
    for (const auto& [key, value] : model.metadata.user_defined) json_.member(key, value);
    json_.end_object().member("generatedClassName", class_name).member("method", "predict");
    return json_.end_object().end_array().text() + "\n";
  }

 private:
  void member_if(std::string_view key, const std::string& value) {
    if (!value.empty()) json_.member(key, value);
  }

  void print_texts(const Metadata& metadata) {
    member_if("shortDescription", metadata.short_description);
    member_if("version", metadata.version);
    member_if("author", metadata.author);
    member_if("license", metadata.license);
  }

  void print_functions(const Model& model) {
    json_.member("defaultFunctionName", model.default_function);
    json_.key("functions").begin_array();
    for (const FunctionDescription& function : model.functions) {
      json_.begin_object().member("name", function.name);
      print_function(model, function, false);
      json_.end_object();
    }
    json_.end_array();
  }

  // Prints a function; `whole` if it is the model's only one.
  void print_function(const Model& model, const FunctionDescription& function, bool whole) {
    const std::pair<std::string_view, const std::vector<Feature>*> schemas[] = {
        {"inputSchema", &function.inputs},
        {"outputSchema", &function.outputs},
        {"stateSchema", &function.states}};
    for (const auto& [key, features] : schemas) {
      json_.key(key).begin_array();
      for (const Feature& feature : *features) print_feature(feature);
      json_.end_array();
    }
    member_if("predictedFeatureName", function.predicted_feature_name);
    member_if("predictedProbabilitiesName", function.predicted_probabilities_name);
    if (model.kind != ModelKind::MlProgram || (whole && model.multifunction)) return;
    print_operations(model.program.function(function.name));
  }

  void print_operations(const Function& function) {
    std::map<std::string, int64_t> histogram;
    std::set<DataType> computed, stored;
    for_each_operation(function.block(), [&](const Operation& operation) {
      for_each_input_type(operation, [&](const ValueType& type, const Value* value) {
        const bool in_file = value != nullptr && (value->blob || value->source != nullptr);
        if (in_file) stored.insert(type.data_type);
        const bool unpacks = operation.type().starts_with("const");
        if (!unpacks && type.is_tensor()) computed.insert(type.data_type);
      });
      if (operation.constant_value() != nullptr) return;
      ++histogram[histogram_name(operation, function)];
      for (const auto& output : operation.outputs()) {
        if (output->type.is_tensor()) computed.insert(output->type.data_type);
      }
    });
    json_.key("mlProgramOperationTypeHistogram").begin_object();
    for (const auto& [name, count] : histogram) json_.member(name, count);
    json_.end_object();
    member_if("computePrecision", precision_text(computed));
    member_if("storagePrecision", precision_text(stored));
  }

  // Calls visit(type, value) for each operand of an operation, and for the value of a constant;
  // `value` is null if it is the result of another operation.
  template <typename Visit>
  static void for_each_input_type(const Operation& operation, Visit&& visit) {
    for (const auto& [name, argument] : operation.inputs()) {
      for (const Binding& binding : argument) {
        const Value* value = std::get_if<Value>(&binding);
        visit(value != nullptr ? value->type : std::get<Var*>(binding)->type, value);
      }
    }
    for (const auto& [name, value] : operation.attributes()) {
      if (name != "name") visit(value.type, &value);
    }
  }

  // "SliceByIndex" in functions for iOS 15, "Ios18.sliceByIndex" in functions of later opsets.
  static std::string histogram_name(const Operation& operation, const Function& function) {
    const auto opset = parse_opset(function.opset);
    const bool first = !opset || *opset == Opset::CoreML5;
    std::string name;
    bool capital = first;
    for (const char c : operation.type()) {
      const bool separates = c == '_';
      if (!separates) name += capital ? upper(c) : c;
      capital = separates;
    }
    if (first) return name;
    const auto version = static_cast<size_t>(specification_version(*opset));
    const std::string_view system = kAvailability.at(version - 1).ios;
    return fmt::format("Ios{}.{}", system.substr(0, system.find('.')), name);
  }

  static std::string precision_text(const std::set<DataType>& types) {
    std::vector<std::string> names;
    for (const DataType type : types) {
      if (type != DataType::Bool && type != DataType::String) names.push_back(data_type_name(type));
    }
    if (names.size() == 1) return names.front();
    return names.empty() ? "" : fmt::format("Mixed ({})", fmt::join(names, ", "));
  }

  void print_availability(int32_t version) {
    const auto last = static_cast<int32_t>(kAvailability.size());
    const Availability& row = kAvailability[static_cast<size_t>(std::clamp(version, 1, last) - 1)];
    json_.key("availability").begin_object();
    json_.member("macOS", row.macos).member("tvOS", row.tvos).member("visionOS", row.visionos);
    json_.member("watchOS", row.watchos).member("iOS", row.ios);
    json_.member("macCatalyst", row.catalyst).end_object();
  }

  void print_type(const Model& model) {
    json_.member("name", "MLModelType_" + model_kind_name(model_kind_field(model.kind)));
    if (!model.is_pipeline()) return;
    json_.key("structure").begin_array();
    for (const PipelineStage& stage : model.stages) {
      json_.begin_object();
      print_type(stage.model);
      json_.end_object();
    }
    json_.end_array();
  }

  void print_feature(const Feature& feature) {
    json_.begin_object();
    json_.member("isOptional", feature.optional && !feature.declared_required ? "1" : "0");
    json_.member("shortDescription", feature.description).member("name", feature.name);
    switch (feature.kind) {
      case Feature::Kind::MultiArray:
        print_array(feature, "MultiArray");
        break;
      case Feature::Kind::State:
        print_array(feature, "State");
        break;
      case Feature::Kind::Image:
        print_image(feature.image);
        break;
      case Feature::Kind::Int64:
        print_plain("Int64", "Int64");
        break;
      case Feature::Kind::Double:
        print_plain("Double", "Double");
        break;
      case Feature::Kind::String:
        print_plain("String", "String");
        break;
      case Feature::Kind::Dictionary:
        json_.member("keyType", feature.string_keys ? "String" : "Int64");
        print_plain("Dictionary", fmt::format("Dictionary ({} → Double)",
                                              feature.string_keys ? "String" : "Int64"));
        break;
      case Feature::Kind::Sequence:
        print_plain("Sequence", "Sequence");
        break;
    }
    json_.end_object();
  }

  void print_plain(std::string_view type, const std::string& formatted) {
    json_.member("formattedType", formatted).member("type", type);
  }

  void print_array(const Feature& feature, std::string_view type) {
    const std::string element = data_type_name(feature.data_type);
    const bool flexible = !feature.ranges.empty() || !feature.enumerated_shapes.empty();
    json_.member("dataType", element).member("hasShapeFlexibility", flexible ? "1" : "0");
    json_.member("shape", size_text(feature.shape));
    if (!feature.ranges.empty()) {
      json_.member("shapeFlexibility", flexibility_text(feature.ranges));
      json_.member("shapeRange", ranges_text(feature.ranges));
    }
    if (!feature.enumerated_shapes.empty()) {
      json_.member("shapeFlexibility", sizes_flexibility(feature.enumerated_shapes));
      json_.member("enumeratedShapes", sizes_text(feature.enumerated_shapes));
    }
    std::string formatted = fmt::format("{} ({}", type, element);
    if (!feature.shape.empty()) formatted += fmt::format(" {}", fmt::join(feature.shape, " × "));
    print_plain(type, formatted + ")");
  }

  void print_image(const ImageType& image) {
    const bool color = image.color_space == ColorSpace::Rgb || image.color_space == ColorSpace::Bgr;
    json_.member("width", std::to_string(image.size.width));
    json_.member("height", std::to_string(image.size.height));
    json_.member("isColor", color ? "1" : "0");
    switch (image.color_space) {
      case ColorSpace::Rgb:
        json_.member("colorspace", "RGB");
        break;
      case ColorSpace::Bgr:
        json_.member("colorspace", "BGR");
        break;
      case ColorSpace::GrayscaleFloat16:
        json_.member("colorspace", "GrayscaleFloat16");
        break;
      case ColorSpace::Grayscale:
        json_.member("colorspace", "Grayscale");
        break;
      case ColorSpace::Unknown:
        break;
    }
    std::vector<std::vector<int64_t>> sizes;
    for (const ImageSize& size : image.enumerated_sizes) sizes.push_back({size.width, size.height});
    const bool ranged = image.width_range && image.height_range;
    json_.member("hasSizeFlexibility", ranged || !sizes.empty() ? "1" : "0");
    if (ranged) {
      const std::vector<SizeRange> ranges = {*image.width_range, *image.height_range};
      json_.member("sizeFlexibility", flexibility_text(ranges));
      json_.member("sizeRange", ranges_text(ranges));
    }
    if (!sizes.empty()) {
      json_.member("sizeFlexibility", sizes_flexibility(sizes));
      json_.member("enumeratedSizes", sizes_text(sizes));
    }
    print_plain("Image", fmt::format("Image ({} {} × {})", color ? "Color" : "Grayscale",
                                     image.size.width, image.size.height));
  }

  JsonWriter json_{2};
};

}  // namespace

std::string print_metadata(const Model& model, const std::string& class_name) {
  return MetadataPrinter().print(model, class_name);
}

}  // namespace pippin::mil
