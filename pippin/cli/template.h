// `pippin template`: the prompt that a model's chat template makes of a conversation.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_template_command(CLI::App& app);

}  // namespace pippin::cli
