// The files of CoreML-LLM's bundle (families/coreml_llm.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pippin::runtime {

struct CoreMlLlmFiles {
  std::filesystem::path root;
  std::filesystem::path chunk_folder;  // the root, or a folder in it
  std::vector<std::string> chunks;     // stems, in order
  std::filesystem::path prefill_folder;
  std::vector<std::string> prefill;     // the same of the packages for batches; none if empty
  std::filesystem::path vision_folder;  // that of the vision tower; empty without one
  std::vector<std::string> unused;      // packages for videos, sound and batches
};

// Whether a folder has such a configuration and a first chunk, also one with states.
bool is_coreml_llm(const std::filesystem::path& root);
// Throws NotFound for a missing chunk, and Unsupported for the bundle of another architecture and
// for chunks with states.
CoreMlLlmFiles find_coreml_llm_files(const std::filesystem::path& root);

// The sizes and factors of model_config.json.
struct CoreMlLlmSizes {
  int64_t hidden = 0, context = 0, window = 0, vocabulary = 0;
  int64_t layers = 0, layer_width = 0;  // layer_width: numbers of a layer in a row of its table
  float embed_scale = 0, layer_scale = 0;
};
// Throws InvalidFile for a missing key, a size outside 1 to 2^24 or a factor that is not finite.
CoreMlLlmSizes read_coreml_llm_sizes(const std::filesystem::path& root);

}  // namespace pippin::runtime
