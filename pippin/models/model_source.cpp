#include "pippin/models/model_source.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/families/anemll.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/families/vision.h"
#include "pippin/io/model_files.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/config/tensor_names.h"
#include "pippin/models/gguf/ggml_whisper.h"
#include "pippin/models/gguf/gguf.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;
using Packages = std::vector<std::shared_ptr<const mil::Model>>;

// The packages of a folder, sorted by name, without a vision tower next to a language model. A
// checkpoint has precedence, as when the folder is run.
std::vector<fs::path> packages_of(const fs::path& source) {
  if (mil::is_package(source)) return {source};
  if (fs::exists(source / "config.json") && has_weights(source)) return {};
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(source, error)) {
    if (entry.path().extension() == families::kPackageEnding) paths.push_back(entry.path());
  }
  if (paths.size() > 1) {
    std::erase_if(paths,
                  [](const fs::path& path) { return path.stem() == families::vision::kPart; });
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string metadata_of(const mil::Model& model, const std::string& key) {
  const auto found = model.metadata.user_defined.find(key);
  return found == model.metadata.user_defined.end() ? std::string() : found->second;
}

Packages read_packages(const fs::path& source) {
  Packages packages;
  for (const fs::path& path : packages_of(source)) {
    auto package = std::make_shared<const mil::Model>(mil::read_package(path));
    const std::string family = metadata_of(*package, families::kFamilyKey);
    if (family.empty()) {
      fail(
          ErrorCode::Unsupported,
          "{}: not made by Pippin, so what its weights are is not known; convert the model that it "
          "was made from",
          path.string());
    }
    for (const char* key : {families::kFamilyKey, families::kMadeFromKey}) {
      const std::string first =
          packages.empty() ? metadata_of(*package, key) : metadata_of(*packages.front(), key);
      if (metadata_of(*package, key) != first) {
        fail(ErrorCode::InvalidFile, "{}: its {} is '{}', that of {} is '{}'", path.string(), key,
             metadata_of(*package, key), packages.front()->path.filename().string(), first);
      }
    }
    packages.push_back(std::move(package));
  }
  return packages;
}

}  // namespace

bool is_made_of_packages(const fs::path& source) {
  return fs::is_directory(source) && !packages_of(source).empty();
}

fs::path text_folder(const fs::path& source) {
  if (mil::is_package(source)) return source / "Data" / mil::kTokenizerItem;
  return fs::is_regular_file(source) ? fs::path() : source;
}

PackageShape shape_of_packages(const fs::path& source) {
  const Packages packages = read_packages(source);
  if (packages.empty()) {
    fail(ErrorCode::NotFound, "{}: neither a package nor a folder of packages", source.string());
  }
  PackageShape shape{metadata_of(*packages.front(), families::kFamilyKey), 0};
  for (const auto& package : packages) {
    if (shape.family == families::stateful::kName) {
      shape.context = context_of(package->description(package->default_function));
    }
    const std::string context = metadata_of(*package, families::anemll::kContextKey);
    if (!context.empty()) shape.context = std::strtoll(context.c_str(), nullptr, 10);
  }
  return shape;
}

Json load_config(const fs::path& source) {
  if (fs::is_regular_file(source) && source.extension() == ".json") {
    return Json::load(source, kPythonJson);
  }
  if (!fs::is_directory(source)) fail(ErrorCode::NotFound, "{}: no such folder", source.string());
  const fs::path path = text_folder(source) / "config.json";
  if (!fs::exists(path)) {
    fail(ErrorCode::NotFound, "{}: no config.json, so {}", text_folder(source).string(),
         mil::is_package(source) ? "the package does not say what model it holds"
                                 : "this is not a Hugging Face model");
  }
  return Json::load(path, kPythonJson);
}

std::string name_in_package(const fs::path& source) {
  const auto paths = fs::is_directory(source) ? packages_of(source) : std::vector<fs::path>();
  return paths.empty() ? std::string()
                       : metadata_of(mil::read_package(paths.front()), families::kMadeFromKey);
}

nn::Parameters open_parameters(const fs::path& source, nn::Precision precision,
                               const nn::Style& style) {
  if (fs::is_regular_file(source)) {
    precision.keep_weight_types = false;
    const Json config = load_config(source);
    const std::string type = config.get_string_or("dtype", config.get_string_or("torch_dtype", ""));
    return nn::Parameters(nn::random_weights(type == "bfloat16"), precision, style);
  }
  if (!is_made_of_packages(source)) {
    Checkpoint checkpoint = Checkpoint::open(source);
    if (is_gguf(checkpoint)) {
      checkpoint = gguf_checkpoint(checkpoint, load_config(source));
    } else if (is_ggml(checkpoint)) {
      checkpoint = ggml_checkpoint(checkpoint);
    } else {
      const std::string type = load_config(source).get_string_or("model_type", "");
      checkpoint = with_current_names(checkpoint, type);
    }
    return nn::Parameters(std::make_shared<const Checkpoint>(std::move(checkpoint)), precision,
                          style);
  }
  Packages packages = read_packages(source);
  // Its residual stream may be scaled into the range of fp16.
  const bool scaled =
      metadata_of(*packages.front(), families::kFamilyKey) == families::anemll::kName &&
      load_config(source).get_string_or("model_type", "").starts_with("gemma");
  if (scaled) {
    fail(
        ErrorCode::Unsupported,
        "{}: the weights of a Gemma in the family anemll are scaled for it; convert the model that "
        "it was made from",
        source.string());
  }
  return nn::Parameters(nn::package_weights(std::move(packages)),
                        {mil::DataType::Float16, /*keep_weight_types=*/false}, style);
}

}  // namespace pippin::models
