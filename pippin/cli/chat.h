// pippin chat: chats with a model in this process or on a server.
#pragma once

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_chat_command(CLI::App& app);

// Whether standard input and output are a terminal, which a chat needs.
bool can_chat();
// Chats with the demo model.
void chat_with_demo();

}  // namespace pippin::cli
