// pippin cache list|clear|path: the entries of the load cache (io/load_cache.h).
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_cache_command(CLI::App& app);

}  // namespace pippin::cli
