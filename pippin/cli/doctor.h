// pippin doctor: finds problems for Core ML and the Neural Engine in a model's files alone.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_doctor_command(CLI::App& app, int& exit_status);

}  // namespace pippin::cli
