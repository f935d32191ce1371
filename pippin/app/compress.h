// A package with smaller weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "pippin/app/compress_options.h"
#include "pippin/app/package_output.h"
#include "pippin/compress/compress.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {

struct CompressPackageOptions {
  CompressOptions compression;  // some way to compress
  // Also compress weights that are compressed already, from their present values.
  bool recompress = false;
  // Raise the program's opset to this first: "iOS18", "CoreML8"; empty: it stays.
  std::string min_target;
  // Bytes of weights that are written, and in all; may throw to end it. Null: nobody looks on.
  std::function<void(uint64_t done, uint64_t total)> progress = nullptr;
};

struct CompressResult : PackageOutput {
  compress::Result compression;
};

// Throws what compress_package() refuses of its options before it reads anything: InvalidArgument
// where no way to compress is named, or two that exclude each other.
void check_compress_options(const CompressPackageOptions& options);

// `output` may be `source`; it is replaced as a whole when everything is written, else left as it
// was. Throws as check_compress_options(), mil::read_package(), calibrate(), compress::compress()
// and mil::write_package(); Cancelled.
CompressResult compress_package(const std::filesystem::path& source,
                                const std::filesystem::path& output,
                                const CompressPackageOptions& options);

}  // namespace pippin::app
