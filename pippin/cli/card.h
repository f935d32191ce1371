// pippin card: a README.md for packages that are published.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_card_command(CLI::App& app);

}  // namespace pippin::cli
