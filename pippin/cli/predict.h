// pippin predict: runs any function of any package on arrays from files.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

// `unsupported_status` is set where the command has one of its own for what Pippin does not
// support.
CLI::App* add_predict_command(CLI::App& app, int& unsupported_status);

}  // namespace pippin::cli
