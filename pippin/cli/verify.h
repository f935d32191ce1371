// `pippin verify`: how far a package agrees with the model that it was made from.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

// `exit_status` becomes 1 where a limit that was given does not hold.
CLI::App* add_verify_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
