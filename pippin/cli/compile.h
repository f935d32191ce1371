// pippin compile: writes a model in the form of Core ML's compiler.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_compile_command(CLI::App& app);

}  // namespace pippin::cli
