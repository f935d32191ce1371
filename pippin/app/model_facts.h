// Facts about a local model without loading it: its files, its architecture, its
// sizes, and what its chat template can do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pippin/runtime/open/loaded_model.h"

namespace pippin::app {

struct FileFacts {
  uint64_t bytes = 0;    // of all files
  int64_t modified = 0;  // when the last of them was written: seconds since 1970
  std::string digest;    // SHA-256 of their names, sizes and times
};

// Of a file, or of all files of a folder.
FileFacts read_file_facts(const std::filesystem::path& path);

struct ModelFacts {
  FileFacts files;
  std::string format;        // "coreml", "safetensors", "gguf"; empty: in the binary
  std::string architecture;  // its model_type, or what its package says; empty: unknown
  std::string quantization;  // "BF16", "awq"; empty: unknown
  int64_t parameters = 0;    // 0: unknown
  int64_t context = 0;       // 0: unknown
  bool is_encoder = false, takes_tools = false, thinks = false;
  std::string template_source;
  // Further sizes, by the names that GGUF has for them: {"block_count", 24}.
  std::vector<std::pair<std::string, int64_t>> sizes;
};

// Details of a loaded model; empty: unknown.
std::string architecture_of(const runtime::RunnableModel& model);

// Of MODEL where it is on this machine. Throws as opening it would for files that cannot be read.
ModelFacts read_model_facts(const std::filesystem::path& path, const runtime::LoadOptions& load);

// The adapters that a package, or a folder of packages, has as functions; none of another model.
// Throws as opening it would.
std::vector<std::string> read_adapters(const std::filesystem::path& path);

}  // namespace pippin::app
