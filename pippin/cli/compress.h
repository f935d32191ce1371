// pippin compress: writes a package with smaller weights.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_compress_command(CLI::App& app);

}  // namespace pippin::cli
