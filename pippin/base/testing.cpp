#include "pippin/base/testing.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

namespace pippin {

namespace fs = std::filesystem;

fs::path source_dir() {
  return PIPPIN_SOURCE_DIR;
}

fs::path demo_model_folder() {
  return source_dir() / "pippin/demo/model";
}

std::vector<fs::path> data_folders() {
  const char* set = std::getenv("PIPPIN_SHARED");
  const fs::path shared = set != nullptr ? set : source_dir() / ".." / "shared";
  std::vector<fs::path> folders;
  for (const fs::path& folder : {fs::path(PIPPIN_BINARY_DIR) / "test-data", shared / "data"}) {
    if (fs::exists(folder)) folders.push_back(fs::canonical(folder));
  }
  return folders;
}

std::optional<fs::path> shared_data(const std::string& name) {
  for (const fs::path& folder : data_folders()) {
    if (fs::exists(folder / name)) return fs::canonical(folder / name);
  }
  const char* required = std::getenv("PIPPIN_REQUIRE_SHARED");
  if (required != nullptr && std::string_view(required) == "1") {
    throw std::runtime_error(shared_data_absent(name) + ", and PIPPIN_REQUIRE_SHARED asks for it");
  }
  return std::nullopt;
}

namespace {
std::atomic<bool> asked_for_entries = false;
}  // namespace

bool wants_more_entries() {
  return asked_for_entries && data_folders().size() < 2;
}

std::vector<fs::path> shared_entries(const std::string& name) {
  asked_for_entries = true;
  if (!shared_data(name)) return {};
  std::map<fs::path, fs::path> entries;
  for (const fs::path& folder : data_folders()) {
    if (!fs::is_directory(folder / name)) continue;
    for (const auto& entry : fs::directory_iterator(folder / name)) {
      entries.emplace(entry.path().filename(), entry.path());
    }
  }
  std::vector<fs::path> paths;
  paths.reserve(entries.size());
  for (const auto& [key, path] : entries) paths.push_back(path);
  return paths;
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
