#include "pippin/app/card/card_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/families/package.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/weight_counts.h"
#include "pippin/mil/walk.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/open/package_family.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using Family = runtime::FoundPackages::Family;

bool is_package_folder(const fs::path& path) {
  const std::string ending = path.extension().string();
  return fs::is_directory(path) && (ending == ".mlpackage" || ending == ".mlmodelc");
}

uint64_t bytes_of(const fs::path& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// "uint4 95 %, fp16 5 %"
std::string weights_of(const mil::Model& model) {
  const mil::WeightCounts counts = mil::count_weights(model);
  std::vector<std::pair<uint64_t, std::string_view>> types;
  types.reserve(counts.groups.size());
  for (const auto& [type, group] : counts.groups) {
    types.emplace_back(group.bytes, mil::to_string(type));
  }
  std::sort(types.rbegin(), types.rend());
  std::string text;
  for (const auto& [bytes, name] : types) {
    const double percent = 100 * static_cast<double>(bytes) / static_cast<double>(counts.bytes);
    if (percent < 0.5) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name, percent);
  }
  return text;
}

// The forms of compressed weights, by the operations that expand them.
std::vector<std::string> forms_of(const mil::Model& model) {
  static const std::map<std::string_view, const char*> form_names = {
      {"constexpr_affine_dequantize", "linear"},
      {"constexpr_blockwise_shift_scale", "linear"},
      {"constexpr_lut_to_dense", "palettes"},
      {"constexpr_sparse_to_dense", "sparse"},
      {"constexpr_lut_to_sparse", "sparse palettes"},
      {"constexpr_sparse_blockwise_shift_scale", "sparse linear"}};
  std::set<std::string> forms;
  mil::for_each_constant(model.program, [&](const mil::Value&, const mil::ConstantPlace& place) {
    if (place.operation == nullptr) return;
    const auto form = form_names.find(place.operation->type());
    if (form != form_names.end()) forms.insert(form->second);
  });
  return {forms.begin(), forms.end()};
}

std::string metadata_of(const mil::Model& model, const char* key) {
  const auto found = model.metadata.user_defined.find(key);
  return found == model.metadata.user_defined.end() ? "" : found->second;
}

void add_package(CardModel& model, const fs::path& root, const fs::path& path) {
  const mil::Model read = mil::read_package(path);
  CardPackage package;
  package.path =
      path == root ? path.filename().string() : path.lexically_relative(root).generic_string();
  package.bytes = bytes_of(path);
  for (const auto& function : read.functions) package.functions.push_back(function.name);
  package.weights = weights_of(read);
  package.forms = forms_of(read);
  mil::release_weights(read.program);
  if (model.made_from.empty()) model.made_from = metadata_of(read, families::kMadeFromKey);
  if (model.architecture.empty()) {
    model.architecture = metadata_of(read, families::kArchitectureKey);
  }
  if (model.family.empty()) model.family = metadata_of(read, families::kFamilyKey);
  if (model.family.empty() && runtime::is_language_model(read)) model.family = "stateful";
  model.packages.push_back(std::move(package));
}

std::vector<fs::path> packages_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_package_folder(entry.path())) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Whether the packages of a folder are the parts of one model.
bool is_one_model(const fs::path& folder) {
  try {
    const auto found = runtime::find_packages(folder);
    return found.family != Family::Single || !found.vision.empty();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::InvalidArgument) return false;  // several models
    throw;
  }
}

std::string family_of_folder(const fs::path& folder) {
  switch (runtime::find_packages(folder).family) {
    case Family::Anemll:
      return "anemll";
    case Family::Windowed:
      return "windowed";
    case Family::WhisperKit:
      return "whisperkit";
    case Family::FluidAudio:
      return "fluidaudio";
    case Family::CoreMlLlm:
      return "coreml-llm";
    case Family::Single:
      return "stateful";
  }
  return "";
}

CardModel folder_model(const fs::path& root, const fs::path& folder) {
  CardModel model;
  if (folder != root) model.name = model.path = folder.filename().string();
  model.family = family_of_folder(folder);
  for (const fs::path& path : packages_in(folder)) add_package(model, root, path);
  return model;
}

}  // namespace

uint64_t CardModel::bytes() const {
  uint64_t total = 0;
  for (const CardPackage& package : packages) total += package.bytes;
  return total;
}

bool CardModel::is_compressed() const {
  return std::any_of(packages.begin(), packages.end(),
                     [](const CardPackage& package) { return !package.forms.empty(); });
}

std::vector<CardModel> find_card_models(const fs::path& given) {
  if (!fs::is_directory(given)) {
    fail(ErrorCode::NotFound, "{}: not a package or a folder of packages", given.string());
  }
  fs::path root = fs::absolute(given).lexically_normal();
  if (root.filename().empty()) root = root.parent_path();
  std::vector<CardModel> models;
  const auto add_single = [&](const fs::path& path) {
    CardModel model;
    model.name = path.stem().string();
    model.path = path.filename().string();
    add_package(model, root, path);
    models.push_back(std::move(model));
  };
  if (is_package_folder(root)) {
    add_single(root);
    return models;
  }
  const std::vector<fs::path> top = packages_in(root);
  if (top.size() > 1 && is_one_model(root)) {
    models.push_back(folder_model(root, root));
  } else {
    for (const fs::path& path : top) add_single(path);
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root)) {
    const bool is_model = entry.is_directory() && !is_package_folder(entry.path()) &&
                          !packages_in(entry.path()).empty();
    if (is_model) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) models.push_back(folder_model(root, folder));
  if (models.empty()) {
    fail(ErrorCode::NotFound, "{}: no .mlpackage or .mlmodelc in it", given.string());
  }
  return models;
}

}  // namespace pippin::app
