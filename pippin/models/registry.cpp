#include "pippin/models/registry.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/io/model_files.h"
#include "pippin/models/adapters.h"
#include "pippin/models/architectures.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/config.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/model_source.h"
#include "pippin/models/quantization.h"

namespace pippin::models {
namespace {

struct Architecture {
  std::string_view model_type;
  std::string_view class_name;  // in "architectures", for configurations without model_type
  nn::DecoderOptions (*describe)(const Config& config);
};

// An explicit list: a static library drops objects that only register themselves.
constexpr std::array kArchitectures = {
#define PIPPIN_ARCHITECTURE(model_type, class_name, describe) \
  Architecture{model_type, class_name, describe},
#include "pippin/models/architectures.inc"
#undef PIPPIN_ARCHITECTURE
};

const Architecture& find_architecture(const Json& config, std::string_view fallback = "") {
  std::string type = config.get_string_or("model_type", fallback);
  std::string class_name;
  if (const auto names = config.find("architectures"); names && names->size() > 0) {
    class_name = std::string(names->at(size_t{0}).as_string());
  }
  for (const Architecture& known : kArchitectures) {
    if (type.empty() ? known.class_name == class_name : known.model_type == type) return known;
  }
  fail(ErrorCode::Unsupported, "{} '{}' is not supported (known: {})", config.where("model_type"),
       type.empty() ? class_name : type, fmt::join(known_model_types(), ", "));
}

}  // namespace

nn::DecoderOptions describe_architecture(const Config& config, std::string_view fallback) {
  return find_architecture(config.json(), fallback).describe(config);
}

std::vector<std::string_view> known_model_types() {
  std::vector<std::string_view> types;
  types.reserve(std::size(kArchitectures));
  for (const Architecture& known : kArchitectures) types.push_back(known.model_type);
  return types;
}

std::string model_name(const std::filesystem::path& hf_folder, const Json& config) {
  // The Hub's cache: models--org--name/snapshots/<commit>.
  for (const auto& part : std::filesystem::absolute(hf_folder).lexically_normal()) {
    const std::string text = part.string();
    if (!text.starts_with("models--")) continue;
    std::string name = text.substr(8);
    if (const size_t dashes = name.find("--"); dashes != std::string::npos) {
      name.replace(dashes, 2, "/");
    }
    return name;
  }
  // A path on some machine is not a name.
  std::string given = config.get_string_or("_name_or_path", "");
  if (std::count(given.begin(), given.end(), '/') == 1 && given.front() != '.' &&
      given.front() != '/' && given.back() != '/') {
    return given;
  }
  auto folder = std::filesystem::absolute(hf_folder).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();
  return folder.filename().string();
}

Description describe(const std::filesystem::path& source) {
  const Json config = load_config(source);
  const Architecture& architecture = find_architecture(config);
  const Config read(config);
  const std::string name = name_in_package(source);
  Description description{name.empty() ? model_name(source, config) : name,
                          std::string(architecture.model_type),
                          std::string(architecture.class_name), architecture.describe(read)};
  // Some architectures have a separate form.
  if (!read.was_read("quantization_config")) description.decoder.packed = packed_weights(read);
  apply_gguf(read, description.decoder);
  read.refuse_unread();
  return description;
}

mil::Model build(const std::filesystem::path& source, const BuildOptions& options) {
  auto [name, model_type, class_name, decoder] = describe(source);
  const AdapterOpener adapters(load_config(source), adapter_paths(options), decoder);
  const nn::Parameters parameters =
      open_parameters(source, precision(options), {.doubled_norms = options.doubled_norms});
  const int64_t context =
      options.context == 0 && options.context_memory > 0
          ? choose_context(decoder, options.context_memory, precision(options).compute)
          : choose_context(decoder, options.context);
  mil::Model model = record_causal_lm(decoder, context, parameters, options, adapters);
  if (options.context_memory > 0 && context < decoder.context) {
    model.metadata.user_defined[families::kOwnContextKey] = std::to_string(decoder.context);
  }
  if (options.packed != nullptr) *options.packed = parameters.packed_matrices();
  model.metadata.short_description = fmt::format("{} ({})", name, model_type);
  model.metadata.user_defined[families::kMadeFromKey] = name;
  model.metadata.user_defined[families::kArchitectureKey] = class_name;
  model.metadata.user_defined[families::kVersionKey] = PIPPIN_VERSION;
  model.metadata.user_defined[families::kFamilyKey] = families::stateful::kName;
  return model;
}

int64_t num_parameters(const mil::Model& model) {
  std::set<const mil::TensorSource*> counted;
  int64_t total = 0;
  for (const auto& [name, function] : model.program.functions) {
    mil::for_each_operation(function->block(), [&](const mil::Operation& operation) {
      const mil::Value* value = operation.constant_value();
      if (value == nullptr || value->source == nullptr) return;
      if (counted.insert(value->source.get()).second) total += value->type.num_elements();
    });
  }
  return total;
}

namespace {

// Files that accompany a model in every form.
constexpr FileRole kTextRoles[] = {FileRole::Config, FileRole::Generation, FileRole::Tokenizer,
                                   FileRole::TokenizerPart, FileRole::ChatTemplate};

std::vector<mil::ExtraFile> text_files(const std::filesystem::path& source, std::string_view item) {
  constexpr size_t kMaxBytes = size_t{256} << 20;
  std::vector<mil::ExtraFile> files;
  const auto folder = text_folder(source);
  if (folder.empty()) return files;
  for (const FileRole role : kTextRoles) {
    for (const auto& path : files_of_role(folder, role)) {
      files.push_back({std::string(item), path.lexically_relative(folder).generic_string(),
                       read_file(path, kMaxBytes)});
    }
  }
  return files;
}

}  // namespace

std::vector<mil::ExtraFile> package_files(const std::filesystem::path& source) {
  return text_files(source, mil::kTokenizerItem);
}

std::vector<mil::ExtraFile> folder_files(const std::filesystem::path& source) {
  return text_files(source, "");
}

}  // namespace pippin::models
