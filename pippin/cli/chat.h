// pippin chat: talks with a model, in this process or at a server.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_chat_command(CLI::App& app);

// Whether somebody sits at a terminal that a chat needs.
bool can_chat();
// A chat with the demo model.
void chat_with_demo();

}  // namespace pippin::cli
