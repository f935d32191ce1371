// pippin run: generates text.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

// `exit_status` is set if the command ends normally with a status other than 0.
CLI::App* add_run_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
