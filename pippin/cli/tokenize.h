// `pippin tokenize` and `pippin detokenize`: converts text to ids and back, without running a
// model.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_tokenize_command(CLI::App& app);
CLI::App* add_detokenize_command(CLI::App& app);

}  // namespace pippin::cli
