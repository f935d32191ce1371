#include "pippin/base/testing.h"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

namespace pippin {

namespace fs = std::filesystem;

fs::path source_dir() {
  return PIPPIN_SOURCE_DIR;
}

std::optional<fs::path> shared_data(const std::string& name) {
  const char* set = std::getenv("PIPPIN_SHARED");
  const fs::path root = set != nullptr ? set : source_dir() / ".." / "shared";
  const fs::path path = root / "data" / name;
  if (fs::exists(path)) return fs::canonical(path);
  const char* required = std::getenv("PIPPIN_REQUIRE_SHARED");
  if (required != nullptr && std::string_view(required) == "1") {
    throw std::runtime_error(shared_data_absent(name) + ", and PIPPIN_REQUIRE_SHARED asks for it");
  }
  return std::nullopt;
}

std::string shared_data_absent(std::string_view name) {
  return fmt::format("shared test data is absent: data/{}", name);
}

std::string fault_of(const Error& error, ErrorCode code, std::string_view part) {
  const std::string_view message = error.what();
  if (error.code() == code && !part.empty() && message.find(part) != message.npos) return {};
  return fmt::format("{} \"{}\" instead of {} with \"{}\"", to_string(error.code()), message,
                     to_string(code), part);
}

}  // namespace pippin
