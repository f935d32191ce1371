#include "pippin/app/open/unpacked_package.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "pippin/base/threads/fork.h"
#include "pippin/io/model_files.h"
#include "pippin/mil/package/archive.h"

namespace pippin::app {

namespace fs = std::filesystem;

fs::path unpacked_package(const fs::path& path, bool several) {
  if (!mil::is_archive(path)) return path;
  static ForkMutex mutex;
  static std::map<std::string, std::unique_ptr<mil::UnpackedArchive>> known;
  const fs::path file = fs::canonical(path);
  const std::string key = fmt::format("{} {} {}", file.string(), fs::file_size(file),
                                      fs::last_write_time(file).time_since_epoch().count());
  const std::lock_guard lock(mutex);
  auto& unpacked = known[key];
  if (unpacked == nullptr) unpacked = std::make_unique<mil::UnpackedArchive>(path);
  if (several && !unpacked->packages().empty()) {
    fs::path folder = unpacked->packages().front().parent_path();
    const bool has_text = !files_of_role(folder, FileRole::Tokenizer).empty();
    if (unpacked->packages().size() > 1 || has_text) return folder;
  }
  return unpacked->package();
}

}  // namespace pippin::app
