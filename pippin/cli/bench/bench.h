// pippin bench: measures loading, prefill and decoding, compared with the machine's limits at the
// same time.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_bench_command(CLI::App& app);

}  // namespace pippin::cli
