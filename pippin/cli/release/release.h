// pippin release: from a checkpoint to a published, verified repository of packages.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_release_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
