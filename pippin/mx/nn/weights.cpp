// Loads weights from files into modules by name.
#include <algorithm>
#include <set>

#include "pippin/base/error.h"
#include "pippin/mx/nn/module.h"
#include "pippin/mx/nn/quantized.h"

namespace pippin::mx::nn {
namespace {

// "a, b, c and 12 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

void check_names(const ArrayMap& parameters, const ArrayMap& weights) {
  std::set<std::string> wanted, given;
  for (const auto& [name, value] : parameters) wanted.insert(name);
  std::vector<std::string> unknown, missing;
  for (const auto& [name, value] : weights) {
    given.insert(name);
    if (!wanted.contains(name)) unknown.push_back(name);
  }
  for (const auto& [name, value] : parameters) {
    if (!given.contains(name)) missing.push_back(name);
  }
  if (!unknown.empty()) {
    fail(ErrorCode::InvalidArgument,
         "[load_weights] {} weights are not parameters of the module: {}.", unknown.size(),
         listed(unknown));
  }
  if (!missing.empty()) {
    fail(ErrorCode::InvalidArgument, "[load_weights] {} parameters have no weights: {}.",
         missing.size(), listed(missing));
  }
}

}  // namespace

void Module::load_weights(const ArrayMap& weights, bool strict) {
  quantize_like(*this, weights);
  if (strict) check_names(parameters(), weights);
  update(weights, strict);
}

void Module::load_weights(const std::filesystem::path& path, const WeightOptions& options) {
  ArrayMap weights;
  std::set<std::string> taken;
  for (auto& [name, value] : load_checkpoint(path)) {
    const bool is_ignored = std::any_of(
        options.ignore.begin(), options.ignore.end(),
        [&name = name](const std::string& part) { return name.find(part) != name.npos; });
    if (is_ignored) continue;
    const auto renamed = options.rename ? options.rename(name) : name;
    if (!renamed) continue;
    if (!taken.insert(*renamed).second) {
      fail(ErrorCode::InvalidArgument, "{}: two weights are called {}", path.string(), *renamed);
    }
    weights.emplace_back(*renamed, std::move(value));
  }
  with_context(path.string(), [&] { load_weights(weights, options.strict); });
}

void Module::save_weights(const std::filesystem::path& file) const {
  if (file.extension() == ".npz") return save_npz(file, parameters());
  if (file.extension() == ".safetensors") return save_safetensors(file, parameters());
  fail(ErrorCode::InvalidArgument, "[save_weights] {} is neither .safetensors nor .npz.",
       file.string());
}

}  // namespace pippin::mx::nn
