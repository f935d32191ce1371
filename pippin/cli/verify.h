// `pippin verify`: measures how well a package agrees with the model that it was made from.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

// `exit_status` is set to 1 if a given limit is exceeded.
CLI::App* add_verify_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
