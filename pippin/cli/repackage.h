// pippin repackage: writes a compiled model, a package or a bare model file as a new package.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_repackage_command(CLI::App& app);

}  // namespace pippin::cli
