// The options of compression that `compress` and `convert` share, and the report of both.
#pragma once

#include <string>

#include "pippin/app/convert/compress_options.h"
#include "pippin/compress/compress.h"

namespace CLI {
class App;
}

namespace pippin::cli {

void add_compress_options(CLI::App& command, app::CompressOptions& options);
// Options for a calibration text, which the model reads first.
void add_calibration_options(CLI::App& command, app::CompressOptions& options);

// A line per weight and a total.
std::string compression_lines(const compress::Result& result);

}  // namespace pippin::cli
