// pippin calibrate: statistics of the inputs of a model's weights, for --calibrate.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_calibrate_command(CLI::App& app);

}  // namespace pippin::cli
