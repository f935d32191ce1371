// pippin rm: removes models from the Hub's cache.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_rm_command(CLI::App& app);

}  // namespace pippin::cli
