// Client programs, and the settings or texts that connect each of them to a server: for `pippin
// launch`, which starts some of them, and for the page, which shows texts to paste.
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
  std::string key;  // empty: the server requires none
  std::string model;
  int64_t context = 0;  // 0: unknown
};

// Settings of a program that is configured by environment variables and arguments.
struct LaunchSettings {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> arguments;  // before the user's
};

struct ClientSetup {
  std::string_view name, title;
  std::string_view place;     // where the text goes: "a shell", "settings.json of VS Code"
  std::string_view language;  // of the text: "sh", "json", "yaml", "python", "js"
  bool for_encoders = false;  // uses models that embed; else models that generate text
  // One of the two is set: the settings of a program that can be started, or a text.
  LaunchSettings (*settings)(const ClientTarget& target) = nullptr;
  std::string (*text)(const ClientTarget& target) = nullptr;
  std::string_view program, install;  // if it can be started: its file and installation command
};

std::span<const ClientSetup> client_setups();
// Returns null for an unknown name.
const ClientSetup* find_client_setup(std::string_view name);

// Returns the text to paste; for a program that can be started, the shell command.
std::string setup_text(const ClientSetup& client, const ClientTarget& target);

}  // namespace pippin::server
