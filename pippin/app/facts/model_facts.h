// Facts about a local model without loading it: its files, architecture and sizes, and the features
// of its chat template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pippin/runtime/open/loaded_model.h"

namespace pippin::app {

struct FileFacts {
  uint64_t bytes = 0;    // total over all files
  int64_t modified = 0;  // time of the last modification: seconds since 1970
  std::string digest;    // SHA-256 of file names, sizes and times
};

// Facts about a file, or about all files of a folder.
FileFacts read_file_facts(const std::filesystem::path& path);

struct ModelFacts {
  FileFacts files;
  std::string format;        // "coreml", "safetensors", "gguf", "ggml"; empty: in the binary
  std::string architecture;  // its model_type, or as stated by its package; empty: unknown
  std::string quantization;  // "BF16", "awq"; empty: unknown
  int64_t parameters = 0;    // 0: unknown
  int64_t context = 0;       // 0: unknown
  bool is_encoder = false;   // embeds or scores texts, or takes images alone
  bool hears = false;        // transcribes recordings
  bool takes_tools = false, thinks = false;
  std::string template_source;
  // Further sizes, under GGUF's names: {"block_count", 24}.
  std::vector<std::pair<std::string, int64_t>> sizes;
};

// Details of a loaded model; empty: unknown.
std::string architecture_of(const runtime::RunnableModel& model);

// Facts about a MODEL on this machine. Throws as opening it would for files that cannot be read.
ModelFacts read_model_facts(const std::filesystem::path& path, const runtime::LoadOptions& load);

// The adapters that a package, or a folder of packages, has as functions; none of another model.
// Throws as opening it would.
std::vector<std::string> read_adapters(const std::filesystem::path& path);

}  // namespace pippin::app
