// `pippin logits`: computes a model's logits for a text.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_logits_command(CLI::App& app);

}  // namespace pippin::cli
