// `pippin template`: renders a conversation with a model's chat template.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_template_command(CLI::App& app);

}  // namespace pippin::cli
