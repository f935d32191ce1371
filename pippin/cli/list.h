// pippin list: lists the models in the Hub's cache.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_list_command(CLI::App& app);

}  // namespace pippin::cli
