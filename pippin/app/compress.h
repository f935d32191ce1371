// A package with smaller weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/compress_options.h"
#include "pippin/compress/compress.h"

namespace pippin::app {

struct CompressSettings {
  int threads = 0;  // 0: one per core
  // A text file that the model reads first (app/calibration.h), and how much of it.
  std::string calibrate;
  int64_t calibrate_tokens = 4096;
  std::vector<int32_t> calibration_ids;  // the text's, where it has been read; empty: it is read
  double mixed = 0;  // bits per weight to spend (app/mixed.h); 0: the recipe as it is
  int64_t mixed_group = 16;
  std::string min_target;  // raise the program's opset to this first: CoreML8, iOS18
  std::function<void(uint64_t, uint64_t)> progress;
};

// Nothing where no option asks for compression. Throws InvalidArgument for options that contradict
// each other.
std::optional<compress::Recipe> wanted_recipe(const CompressOptions& options,
                                              const CompressSettings& settings);

struct CompressResult {
  std::filesystem::path path;
  compress::Result compression;
  uint64_t bytes = 0;  // of the whole package
  double seconds = 0;
};

// `output` may be `source`; it is replaced as a whole when everything is written, else left as it
// was. Throws as mil::read_package, calibrate(), compress::compress and mil::write_package.
CompressResult compress_package(const std::filesystem::path& source,
                                const std::filesystem::path& output, const compress::Recipe& recipe,
                                const CompressSettings& settings = {});

}  // namespace pippin::app
