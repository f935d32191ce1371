#include "pippin/models/adapters.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/gguf/gguf_adapter.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;

// Of a module that may have prefixes.
bool is_module(const std::string& tensor, const std::string& module) {
  const std::string whole = module + ".weight";
  return tensor == whole || tensor.ends_with("." + whole);
}

// Tables and heads are the same in both forms; other matrices may have their rows or axes in
// another order.
void check_replacements(const nn::LoraAdapter& adapter, const nn::DecoderOptions& model) {
  for (const auto& [tensor, name] : adapter.replacements()) {
    const bool is_matrix = adapter.checkpoint()->at(name).shape.size() > 1;
    if (!is_matrix || is_module(tensor, model.embedding) || is_module(tensor, model.head)) continue;
    fail(ErrorCode::Unsupported,
         "{}: tensor '{}' replaces a matrix that the GGUF may have in another order: use the "
         "adapter on the Hugging Face folder, or on a package made of it",
         adapter.path().string(), name);
  }
}

}  // namespace

AdapterOpener::AdapterOpener(Json config, const std::vector<fs::path>& paths,
                             nn::DecoderOptions& model)
    : config_(std::move(config)), model_(model) {
  if (config_.has(kGgufKey)) return;
  for (const fs::path& path : paths) {
    const fs::path file = find_gguf_adapter(path);
    if (!file.empty()) add_gguf_form(file, model);
  }
}

std::shared_ptr<const nn::LoraAdapter> AdapterOpener::open(const fs::path& path) const {
  const fs::path file = find_gguf_adapter(path);
  if (!file.empty()) return open_gguf_adapter(file, config_, model_);
  const bool is_gguf = config_.has(kGgufKey);
  auto adapter = nn::LoraAdapter::open(path, /*is_of_other_form=*/is_gguf);
  if (is_gguf) check_replacements(*adapter, model_);
  return adapter;
}

std::vector<fs::path> adapter_paths(const BuildOptions& options) {
  std::vector<fs::path> paths = options.run_adapters;
  if (!options.fused_adapter.empty()) paths.push_back(options.fused_adapter);
  for (const NamedAdapter& adapter : options.adapters) paths.push_back(adapter.folder);
  return paths;
}

}  // namespace pippin::models
