// The parts of a file's path in a repository, which has "/" on all systems.
#pragma once

#include <string_view>

namespace pippin::hub {

inline std::string_view name_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Empty: the top of the repository.
inline std::string_view folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace pippin::hub
