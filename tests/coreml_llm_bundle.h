// For tests: a tiny Gemma 4 with random weights, and CoreML-LLM's bundle of it
// (families/coreml_llm.h).
#pragma once

#include <cstdint>
#include <filesystem>

namespace pippin::testing_models {

// Its words are w0 to w39.
inline constexpr int64_t kBundleContext = 24, kBundleWindow = 6;

void write_bundle_checkpoint(const std::filesystem::path& folder);
// The packages of such a checkpoint: four, in the folder, or three, in swa/.
enum class BundleLayout { Four, Three };
void write_bundle(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                  BundleLayout layout);

}  // namespace pippin::testing_models
