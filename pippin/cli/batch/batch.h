// `pippin batch`: answers to a file of requests, by any number of processes.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_batch_command(CLI::App& app);

}  // namespace pippin::cli
