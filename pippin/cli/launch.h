// pippin launch: starts a coding agent with a server's model.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

// `status` is set to the agent's exit status.
CLI::App* add_launch_command(CLI::App& app, int& status);

}  // namespace pippin::cli
