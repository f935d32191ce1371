// The options of compression, which `compress` and `convert` share, and what both say of it.
#pragma once

#include <string>

#include "pippin/app/compress_options.h"
#include "pippin/compress/compress.h"

namespace CLI {
class App;
}

namespace pippin::cli {

void add_compress_options(CLI::App& command, app::CompressOptions& options);
// Those of a text that the model reads first.
void add_calibration_options(CLI::App& command, app::CompressOptions& options);

// A line per weight and one in all.
std::string compression_lines(const compress::Result& result);

}  // namespace pippin::cli
