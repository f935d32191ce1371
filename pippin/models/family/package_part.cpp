#include "pippin/models/family/package_part.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/families/package.h"
#include "pippin/models/adapters.h"
#include "pippin/models/model_source.h"

namespace pippin::models {

mil::Value build_info() {
  const auto string_type = mil::ValueType::scalar(mil::DataType::String);
  mil::Value info;
  info.type.kind = mil::ValueType::Kind::Dictionary;
  info.type.parameters = {string_type, string_type};
  info.elements = {mil::Value::of_string(families::kBuildInfoVersion),
                   mil::Value::of_string(PIPPIN_VERSION)};
  return info;
}

void FunctionRecorder::declare(const std::string& name, mil::DataType type,
                               std::vector<int64_t> dims, bool is_state) {
  if (is_state) {
    description_.states.push_back(mil::state_feature(name, type, std::move(dims)));
  } else {
    description_.inputs.push_back(mil::array_feature(name, "", type, std::move(dims)));
  }
}

array::Array FunctionRecorder::input(const std::string& name, mil::DataType type,
                                     std::vector<int64_t> dims) {
  declare(name, type, dims, /*is_state=*/false);
  return builder_.input(name, type, mil::to_shape(dims));
}

array::Array FunctionRecorder::enumerated_input(const std::string& name, mil::DataType type,
                                                const std::vector<int64_t>& sizes) {
  declare(name, type, {1, sizes.at(0)}, /*is_state=*/false);
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  if (*least == *most) return builder_.input(name, type, {1, *least});
  for (const int64_t size : sizes) {
    description_.inputs.back().enumerated_shapes.push_back({1, size});
  }
  return builder_.input(name, type, {1, mil::Dim::symbol("tokens", *least, *most)});
}

void FunctionRecorder::declare_output(const std::string& name, mil::DataType type) {
  mil::Feature feature;
  feature.name = name;
  feature.data_type = type;
  description_.outputs.push_back(std::move(feature));
}

void FunctionRecorder::output(const std::string& name, const array::Array& value) {
  builder_.output(name, value);
  declare_output(name, value.type());
  if (const auto dims = mil::constant_shape(value.shape())) {
    description_.outputs.back().shape = *dims;
  }
}

void FunctionRecorder::add_to(mil::Model& model) {
  if (model.functions.empty()) model.default_function = description_.name;
  model.program.functions.emplace(description_.name, builder_.build());
  model.functions.push_back(std::move(description_));
  model.multifunction = model.functions.size() > 1;
}

mil::Model empty_model(const Description& description, std::string_view family, mil::Opset opset) {
  mil::Model model;
  model.specification_version = mil::specification_version(opset);
  model.program.attributes.emplace(families::kBuildInfo, build_info());
  model.metadata.short_description =
      fmt::format("{} ({})", description.name, description.model_type);
  auto& values = model.metadata.user_defined;
  values[families::kMadeFromKey] = description.name;
  values[families::kArchitectureKey] = description.class_name;
  values[families::kVersionKey] = PIPPIN_VERSION;
  values[families::kFamilyKey] = family;
  return model;
}

void check_file_prefix(const std::string& prefix) {
  const bool plain = std::all_of(prefix.begin(), prefix.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  });
  if (!plain || prefix.starts_with('.')) {
    fail(ErrorCode::InvalidArgument,
         "prefix '{}': letters, digits, '-', '_' and '.' make a file name", prefix);
  }
}

nn::Parameters part_parameters(const std::filesystem::path& source,
                               const std::filesystem::path& fused_adapter,
                               nn::DecoderOptions& model, const nn::Style& style) {
  nn::Parameters parameters = open_parameters(source, {mil::DataType::Float16, false}, style);
  if (fused_adapter.empty()) return parameters;
  const AdapterOpener adapters(load_config(source), {fused_adapter}, model);
  return parameters.adapted(adapters.open(fused_adapter), nn::Parameters::Adapting::Fuse);
}

std::vector<int64_t> balanced(int64_t total, int64_t count) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < count; ++i) sizes.push_back(total / count + (i < total % count ? 1 : 0));
  return sizes;
}

}  // namespace pippin::models
