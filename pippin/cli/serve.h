// pippin serve: serves language models over HTTP.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_serve_command(CLI::App& app);

}  // namespace pippin::cli
