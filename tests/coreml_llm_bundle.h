// For tests: a tiny Gemma 4 with random weights, and CoreML-LLM's bundle of it
// (families/coreml_llm.h).
#pragma once

#include <cstdint>
#include <filesystem>

namespace pippin::testing_models {

// Its words are w0 to w36, and the tokens of images.
inline constexpr int64_t kBundleContext = 96, kBundleWindow = 6;

void write_bundle_checkpoint(const std::filesystem::path& folder);
// The packages of such a checkpoint: four, in the folder, or three, in swa/.
enum class BundleLayout { Four, Three };
void write_bundle(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                  BundleLayout layout);
// The packages for batches: PREFIX1 to PREFIX4 in the folder.
void write_bundle_prefill(const std::filesystem::path& checkpoint,
                          const std::filesystem::path& folder, const char* prefix, int64_t tokens);
// The vision tower of the checkpoint, for up to 70 rows of an image, as a package.
void write_bundle_tower(const std::filesystem::path& checkpoint, const std::filesystem::path& path);

}  // namespace pippin::testing_models
