#include "pippin/server/response_folder.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

struct Listed {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

std::vector<Listed> list(const fs::path& folder) {
  std::vector<Listed> result;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->path().extension() != ".json" || !it->is_regular_file(gone)) continue;
    const Listed listed{it->path(), it->file_size(gone), it->last_write_time(gone)};
    if (!gone) result.push_back(listed);
  }
  return result;
}

}  // namespace

ResponseFolder::ResponseFolder(const fs::path& folder, uint64_t limit)
    : folder_(folder / "responses"), limit_(limit) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", folder_.string(), error.message());
  fs::permissions(folder_, fs::perms::owner_all, error);
  if (error) fail(ErrorCode::Io, "{}: {}", folder_.string(), error.message());
  trim();
}

fs::path ResponseFolder::path_of(const std::string& id) const {
  return folder_ / (id + ".json");
}

void ResponseFolder::write(const std::string& id, const std::string& text) {
  write_file(path_of(id), text);
  bytes_ += text.size();
  if (bytes_ > limit_) trim();
}

std::optional<std::string> ResponseFolder::read(const std::string& id) const {
  std::ifstream file(path_of(id), std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad()) return std::nullopt;
  // Marks the file as used, so that others are evicted first.
  std::error_code ignored;
  fs::last_write_time(path_of(id), fs::file_time_type::clock::now(), ignored);
  return std::move(text).str();
}

bool ResponseFolder::has(const std::string& id) const {
  std::error_code ignored;
  return fs::is_regular_file(path_of(id), ignored);
}

void ResponseFolder::remove(const std::string& id) {
  std::error_code ignored;
  fs::remove(path_of(id), ignored);
}

// Frees a sixteenth more than needed, so that not every write searches for old files. It lists the
// folder, because other processes may have written too.
void ResponseFolder::trim() {
  std::vector<Listed> files = list(folder_);
  std::sort(files.begin(), files.end(),
            [](const Listed& a, const Listed& b) { return a.used < b.used; });
  bytes_ = 0;
  for (const Listed& file : files) bytes_ += file.bytes;
  if (bytes_ <= limit_) return;
  for (const Listed& file : files) {
    if (bytes_ <= limit_ - limit_ / 16) break;
    std::error_code error;
    if (!fs::remove(file.path, error) && error) continue;
    bytes_ -= file.bytes;
  }
}

}  // namespace pippin::server
