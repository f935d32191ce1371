// pippin constrain: checks whether texts have a form.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_constrain_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
