// Agents that `pippin launch` knows, and how each is told of a server.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pippin::cli {

struct LaunchTarget {
  std::string url;  // without a path
  std::string key;  // empty: the server asks for none
  std::string model;
  int64_t context = 0;  // 0: the server does not say
};

struct LaunchSettings {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> arguments;  // before the user's
};

struct LaunchClient {
  std::string_view name, title, program;
  std::string_view install;  // the command that does
  LaunchSettings (*settings)(const LaunchTarget& target);
};

std::span<const LaunchClient> launch_clients();
// Null for an unknown name.
const LaunchClient* find_launch_client(std::string_view name);

}  // namespace pippin::cli
