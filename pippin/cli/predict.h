// pippin predict: runs any function of any package with inputs from files.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_predict_command(CLI::App& app);

}  // namespace pippin::cli
