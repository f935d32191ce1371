// Compresses the weights of a package.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "pippin/app/convert/compress_options.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/compress/compress.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {

struct CompressPackageOptions {
  CompressOptions compression;  // at least one compression method
  // Also compress weights that are already compressed, from their current values.
  bool recompress = false;
  // First raise the program's opset to this: "iOS18", "CoreML8"; empty: unchanged.
  std::string min_target;
  // Bytes next to the package that count towards compression.target_size.
  uint64_t other_bytes = 0;
  // Called with the bytes of weights written so far and the total; may throw to cancel. May be
  // null.
  std::function<void(uint64_t done, uint64_t total)> progress = nullptr;
};

struct CompressResult : PackageOutput {
  compress::Result compression;
};

// Throws compress_package()'s errors about options, before anything is read: InvalidArgument if no
// method is named, or two that exclude each other.
void check_compress_options(const CompressPackageOptions& options);

// `output` may be `source`; it is replaced only after everything has been written, and unchanged
// after an error. Throws as check_compress_options(), mil::read_package(), calibrate(),
// compress::compress() and mil::write_package(); Cancelled.
CompressResult compress_package(const std::filesystem::path& source,
                                const std::filesystem::path& output,
                                const CompressPackageOptions& options);

}  // namespace pippin::app
