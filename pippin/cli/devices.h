// pippin devices: the devices of this system, for --backend.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_devices_command(CLI::App& app);

}  // namespace pippin::cli
