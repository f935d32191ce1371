// pippin compress: a package with smaller weights.
#pragma once

#include "pippin/app/compress.h"

namespace CLI {
class App;
}

namespace pippin::cli {

void add_calibration_options(CLI::App& command, app::CompressSettings& settings);

CLI::App* add_compress_command(CLI::App& app);

}  // namespace pippin::cli
