// The vision tower of CoreML-LLM's bundle (families/coreml_llm.h): one program for images of all
// sizes.
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/image/processors/image_processor.h"
#include "pippin/image/prompt/image_prompt.h"
#include "pippin/runtime/vision/vision_tower.h"

namespace pippin::runtime {

struct CoreMlLlmTower {
  image::ImageProcessor processor;  // of the tower's sizes
  image::ImagePrompt prompt;
  VisionPrograms programs;
};

// `folder` has the package. `width`: the numbers of a row. The package is read again when it is
// planned. Throws NotFound, the errors of mil::read_package, Unsupported for a package with another
// interface or of sizes that Gemma 4 does not have, InvalidFile for rows of another width.
CoreMlLlmTower open_coreml_llm_tower(const std::filesystem::path& folder, int64_t width);

}  // namespace pippin::runtime
