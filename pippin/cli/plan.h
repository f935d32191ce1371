// pippin plan: a model on several machines, before they are bought.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_plan_command(CLI::App& app);

}  // namespace pippin::cli
