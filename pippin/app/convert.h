// A Hugging Face model folder becomes a Core ML package.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "pippin/compress/compress.h"
#include "pippin/models/registry.h"

namespace pippin::app {

struct ConvertResult {
  std::filesystem::path path;
  std::string architecture;
  int64_t context = 0;
  int64_t parameters = 0;
  std::optional<compress::Result> compression;
  int64_t packages = 1;
  uint64_t bytes = 0;  // of all files
  double seconds = 0;
};

// What the command does between parsing and printing; without a recipe weights are fp16. `progress`
// is called with bytes done and in all. `output` is replaced as a whole when everything is written,
// else left as it was.
ConvertResult convert(const std::filesystem::path& source, const std::filesystem::path& output,
                      const models::BuildOptions& options,
                      const std::function<void(uint64_t, uint64_t)>& progress,
                      const std::optional<compress::Recipe>& recipe = std::nullopt);

}  // namespace pippin::app
