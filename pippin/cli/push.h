// pippin push: publishes files in a repository of the Hugging Face Hub.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_push_command(CLI::App& app);

}  // namespace pippin::cli
