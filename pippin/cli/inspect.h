// pippin inspect: describes a package without running it.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_inspect_command(CLI::App& app);

}  // namespace pippin::cli
