// pippin pull: downloads a repository's files to the cache or a folder.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_pull_command(CLI::App& app);

}  // namespace pippin::cli
