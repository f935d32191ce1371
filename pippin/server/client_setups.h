// Programs that ask a server, and the settings or texts that tell each of them of it: for
// `pippin launch`, which starts some of them, and for the page, which shows texts to paste.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pippin::server {

struct ClientTarget {
  std::string url;  // without a path
  std::string key;  // empty: the server asks for none
  std::string model;
  int64_t context = 0;  // 0: the server does not say
};

// Of a program that is told by its variables and arguments.
struct LaunchSettings {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> arguments;  // before the user's
};

struct ClientSetup {
  std::string_view name, title;
  std::string_view place;     // where the text goes: "a shell", "settings.json of VS Code"
  std::string_view language;  // of the text: "sh", "json", "yaml", "python", "js"
  bool for_encoders = false;  // it asks models that embed; else those that write
  // One of both: the settings of a program that can be started, or a text.
  LaunchSettings (*settings)(const ClientTarget& target) = nullptr;
  std::string (*text)(const ClientTarget& target) = nullptr;
  std::string_view program, install;  // that can be started, and the command that installs it
};

std::span<const ClientSetup> client_setups();
// Null for an unknown name.
const ClientSetup* find_client_setup(std::string_view name);

// The text to paste. Of a program that can be started, the command for a shell.
std::string setup_text(const ClientSetup& client, const ClientTarget& target);

}  // namespace pippin::server
