// pippin doctor: what will trouble Core ML and the Neural Engine, from the files alone.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_doctor_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
