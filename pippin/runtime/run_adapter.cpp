#include "pippin/runtime/run_adapter.h"

#include <cmath>
#include <filesystem>
#include <set>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;

// The name of "path/to/adapter/" and of "path/to/adapter.gguf" is "adapter".
std::string name_of_path(const std::string& path) {
  fs::path full = fs::path(path).lexically_normal();
  if (full.filename().empty()) full = full.parent_path();
  return full.extension() == ".gguf" ? full.stem().string() : full.filename().string();
}

}  // namespace

RunAdapter parse_run_adapter(std::string_view text) {
  RunAdapter adapter;
  std::string_view rest = text;
  const size_t equals = rest.find('=');
  // A folder may have the sign in its name.
  if (equals != rest.npos && rest.substr(0, equals).find('/') == rest.npos &&
      !fs::exists(fs::path(rest))) {
    adapter.name = rest.substr(0, equals);
    rest.remove_prefix(equals + 1);
    if (adapter.name.empty()) {
      fail(ErrorCode::InvalidArgument, "adapter '{}': there is no name before the =", text);
    }
  }
  const size_t colon = rest.rfind(':');
  if (colon != rest.npos && !fs::exists(fs::path(rest))) {
    double scale = 0;
    if (!parse_number(rest.substr(colon + 1), scale) || !std::isfinite(scale) ||
        !std::isfinite(static_cast<float>(scale))) {
      fail(ErrorCode::InvalidArgument, "adapter '{}': the scale '{}' is not a number", text,
           rest.substr(colon + 1));
    }
    adapter.scale = static_cast<float>(scale);
    rest = rest.substr(0, colon);
  }
  if (rest.empty()) fail(ErrorCode::InvalidArgument, "adapter '{}': there is no folder", text);
  adapter.path = rest;
  if (adapter.name.empty()) adapter.name = name_of_path(adapter.path);
  return adapter;
}

void name_run_adapters(LoadOptions& options) {
  std::set<std::string> names;
  for (RunAdapter& adapter : options.run_adapters) {
    if (adapter.name.empty()) adapter.name = name_of_path(adapter.path);
    if (adapter.name.find_first_of(":,\n") != std::string::npos) {
      fail(ErrorCode::InvalidArgument,
           "adapter '{}': a name has no colon and no comma; name it with NAME=DIR", adapter.name);
    }
    if (!names.insert(adapter.name).second) {
      fail(ErrorCode::InvalidArgument, "two adapters are called {}: name them with NAME=DIR",
           adapter.name);
    }
    if (!fs::exists(adapter.path)) {
      fail(ErrorCode::NotFound, "{}: there is no such adapter", adapter.path);
    }
  }
}

}  // namespace pippin::runtime
