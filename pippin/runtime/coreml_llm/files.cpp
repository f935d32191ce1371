#include "pippin/runtime/coreml_llm/files.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/families/coreml_llm.h"
#include "pippin/io/json.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;
namespace coreml_llm = families::coreml_llm;

constexpr int64_t kMostElements = int64_t{1} << 24;

Json load_config(const fs::path& root) {
  return Json::load(root / coreml_llm::kConfigFile, {.max_bytes = size_t{1} << 20});
}

bool has_package(const fs::path& folder, const char* stem) {
  return fs::is_directory(folder) && PackageFolder(folder).contains(stem);
}

// The root or that folder in it, whichever has the package first; empty if none has.
fs::path folder_of(const char* stem, const fs::path& root, const char* folder) {
  for (const fs::path& place : {root, root / folder}) {
    if (has_package(place, stem)) return place;
  }
  return {};
}

fs::path chunk_folder(const fs::path& root) {
  return folder_of(coreml_llm::kFirstChunk, root, coreml_llm::kChunkFolder);
}

// That of chunks with their caches in states.
fs::path stateful_folder(const fs::path& root) {
  return folder_of(coreml_llm::kFirstStatefulChunk, root, coreml_llm::kStatefulFolder);
}

bool is_one_of(std::span<const char* const> names, const std::string& stem) {
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return stem == one; });
}

// Packages of the bundle that do not run, by their paths in it. Other forms of the chunks do not
// count.
std::vector<std::string> unused_packages(const CoreMlLlmFiles& files) {
  std::vector<std::string> unused;
  std::vector<fs::path> places = {files.root};
  if (files.chunk_folder != files.root) places.push_back(files.chunk_folder);
  for (const fs::path& place : places) {
    for (const std::string& stem : PackageFolder(place).stems()) {
      if (is_one_of(coreml_llm::kFourChunks, stem) || is_one_of(coreml_llm::kThreeChunks, stem) ||
          is_one_of(coreml_llm::kPrefillChunks, stem) || stem == coreml_llm::kVisionPart) {
        continue;
      }
      unused.push_back((place / stem).lexically_relative(files.root).generic_string());
    }
  }
  return unused;
}

void find_prefill(CoreMlLlmFiles& files) {
  const auto& stems = coreml_llm::kPrefillChunks;
  files.prefill_folder = folder_of(stems[0], files.root, coreml_llm::kChunkFolder);
  if (!files.prefill_folder.empty()) {
    files.prefill.assign(std::begin(stems), std::end(stems));
  } else if (has_package(files.root / coreml_llm::kPrefillFolder, coreml_llm::kFirstChunk)) {
    files.prefill_folder = files.root / coreml_llm::kPrefillFolder;
    files.prefill.assign(std::begin(coreml_llm::kFourChunks), std::end(coreml_llm::kFourChunks));
  }
}

int64_t size_of(const Json& config, std::string_view key, std::optional<int64_t> fallback = {}) {
  if (fallback && !config.has(key)) return *fallback;
  return config.get_int_between(key, 1, kMostElements);
}

float factor_of(const Json& config, std::string_view key, int64_t width) {
  const auto factor =
      static_cast<float>(config.get_float_or(key, std::sqrt(static_cast<double>(width))));
  if (!std::isfinite(factor)) {
    fail(ErrorCode::InvalidFile, "{}: not a finite fp32 number", config.where(key));
  }
  return factor;
}

}  // namespace

bool is_coreml_llm(const fs::path& root) {
  if (!fs::is_directory(root) || !fs::is_regular_file(root / coreml_llm::kConfigFile)) return false;
  return !chunk_folder(root).empty() || !stateful_folder(root).empty();
}

CoreMlLlmFiles find_coreml_llm_files(const fs::path& root) {
  const Json config = load_config(root);
  const std::string architecture = config.get_string_or("architecture", coreml_llm::kArchitecture);
  if (architecture != coreml_llm::kArchitecture) {
    fail(ErrorCode::Unsupported, "{}: architecture '{}' is not supported (supported: {})",
         (root / coreml_llm::kConfigFile).string(), architecture, coreml_llm::kArchitecture);
  }
  CoreMlLlmFiles files{root, chunk_folder(root), {}, {}, {}, {}, {}};
  if (files.chunk_folder.empty()) {
    fail(ErrorCode::Unsupported,
         "{}: chunks with states ('{}') are not supported (supported: '{}', caches as inputs)",
         stateful_folder(root).string(), coreml_llm::kFirstStatefulChunk, coreml_llm::kFirstChunk);
  }
  const PackageFolder folder(files.chunk_folder);
  if (folder.contains(coreml_llm::kThreeChunks[1]) &&
      folder.contains(coreml_llm::kThreeChunks[2])) {
    files.chunks.assign(std::begin(coreml_llm::kThreeChunks), std::end(coreml_llm::kThreeChunks));
  } else {
    files.chunks.assign(std::begin(coreml_llm::kFourChunks), std::end(coreml_llm::kFourChunks));
  }
  for (const std::string& chunk : files.chunks) {
    if (!folder.contains(chunk)) {
      fail(ErrorCode::NotFound, "{}: there is no package '{}'", files.chunk_folder.string(), chunk);
    }
  }
  find_prefill(files);
  files.vision_folder = folder_of(coreml_llm::kVisionPart, root, coreml_llm::kChunkFolder);
  files.unused = unused_packages(files);
  return files;
}

CoreMlLlmSizes read_coreml_llm_sizes(const fs::path& root) {
  const Json config = load_config(root);
  CoreMlLlmSizes sizes;
  sizes.hidden = size_of(config, "hidden_size");
  sizes.context = size_of(config, "context_length");
  sizes.window = size_of(config, "sliding_window", coreml_llm::kWindow);
  sizes.vocabulary = size_of(config, "vocab_size");
  sizes.layers = size_of(config, config.has("num_layers") ? "num_layers" : "num_hidden_layers");
  sizes.layer_width = size_of(config, "per_layer_dim", coreml_llm::kLayerWidth);
  sizes.embed_scale = factor_of(config, "embed_scale", sizes.hidden);
  sizes.layer_scale = factor_of(config, "per_layer_embed_scale", sizes.layer_width);
  return sizes;
}

}  // namespace pippin::runtime
