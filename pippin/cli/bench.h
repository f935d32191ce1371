// pippin bench: how fast a model loads, reads a prompt and writes text, compared with what the
// machine can do at the same time.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_bench_command(CLI::App& app);

}  // namespace pippin::cli
