// pippin launch: starts an agent for programs with a server's model.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

// `status` becomes the agent's.
CLI::App* add_launch_command(CLI::App& app, int& status);

}  // namespace pippin::cli
