#include "pippin/server/file_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/durable.h"
#include "pippin/base/files/file.h"
#include "pippin/base/log.h"
#include "pippin/base/text.h"
#include "pippin/server/api_error.h"
#include "pippin/server/random_id.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".new-", kRemoved = ".gone-";

bool has_expired(const StoredFile& file) {
  return file.expires_at != 0 && file.expires_at <= time_ns() / 1'000'000'000;
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", path.string(), error.message());
}

// A folder under construction, removed unless it is renamed.
struct UnfinishedFile {
  fs::path path;
  ~UnfinishedFile() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

FileStore::FileStore(fs::path folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {
  make_folder(folder_);
  load();
}

void FileStore::load() {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const fs::directory_entry& entry = *it;
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kUnfinished) || name.starts_with(kRemoved)) {
      std::error_code ignored;
      fs::remove_all(entry.path(), ignored);
    }
    if (!is_id(name)) continue;
    try {
      StoredFile file = parse_stored_file(Json::load(entry.path() / "file.json"));
      if (file.id != name) fail(ErrorCode::InvalidFile, "file.json: is that of {}", file.id);
      bytes_ += file.bytes;
      files_.emplace(name, std::move(file));
    } catch (const Error& fault) {
      log_warn("{}: is left out: {}", name, fault.what());
    }
  }
  if (error) fail(ErrorCode::Io, "{}: cannot be read: {}", folder_.string(), error.message());
}

bool FileStore::is_id(std::string_view text) {
  return is_random_id(text, kPrefix);
}

fs::path FileStore::content_of(const std::string& id) const {
  return folder_ / id / "content";
}

StoredFile FileStore::upload(StoredFile file, std::string_view content) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes_ + content.size() > limit_) {
      throw ApiError(507, fmt::format("file: has {}, and the stored files {} of {} (--files-size)",
                                      format_bytes(content.size()), format_bytes(bytes_),
                                      format_bytes(limit_)));
    }
    bytes_ += content.size();  // reserved
  }
  file.id = std::string(kPrefix) + random_digits();
  try {
    file = add(std::move(file), [&](FileWriter& out) { out.write(content); });
  } catch (const std::exception& fault) {
    log_warn("an upload of {} was not stored: {}", format_bytes(content.size()), fault.what());
    const std::lock_guard lock(mutex_);
    bytes_ -= content.size();
    throw ApiError(507, "the server's disk is full, or cannot be written");
  }
  const std::lock_guard lock(mutex_);
  bytes_ -= content.size();
  return file;
}

StoredFile FileStore::add(StoredFile file, const std::function<void(FileWriter& out)>& write) {
  if (auto known = find(file.id)) return std::move(*known);
  const UnfinishedFile unfinished{folder_ / fmt::format("{}{}", kUnfinished, file.id)};
  make_folder(unfinished.path);
  {
    FileWriter out(unfinished.path / "content");
    write(out);
    file.bytes = out.position();
    out.close();
  }
  if (file.created_ns == 0) file.created_ns = time_ns();
  FileWriter out(unfinished.path / "file.json");
  out.write(file_text(file));
  out.close();
  for (const char* name : {"content", "file.json"}) sync_to_disk(unfinished.path / name);
  sync_to_disk(unfinished.path);
  std::error_code error;
  fs::rename(unfinished.path, folder_ / file.id, error);
  if (error) fail(ErrorCode::Io, "{}: cannot be created: {}", file.id, error.message());
  sync_to_disk(folder_);
  const std::lock_guard lock(mutex_);
  bytes_ += file.bytes;
  files_.emplace(file.id, file);
  return file;
}

std::optional<StoredFile> FileStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(id);
  if (found == files_.end() || has_expired(found->second)) return std::nullopt;
  return found->second;
}

std::vector<StoredFile> FileStore::list() const {
  std::vector<StoredFile> files;
  {
    const std::lock_guard lock(mutex_);
    files.reserve(files_.size());
    for (const auto& [id, file] : files_) {
      if (!has_expired(file)) files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) {
    return std::pair(a.created_ns, a.id) < std::pair(b.created_ns, b.id);
  });
  return files;
}

std::optional<std::string> FileStore::read(const std::string& id) const {
  if (!find(id)) return std::nullopt;
  constexpr size_t kAnySize = size_t{1} << 40;
  try {
    return read_file(content_of(id), kAnySize, StandIns::Allow);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::NotFound) return std::nullopt;  // just removed
    throw;
  }
}

bool FileStore::link(const std::string& id, const fs::path& target) const {
  if (!find(id)) return false;
  if (::link(content_of(id).c_str(), target.c_str()) == 0) return true;
  if (errno == ENOENT) return false;  // just removed
  fail(ErrorCode::Io, "{}: cannot be created: {}", target.string(), std::strerror(errno));
}

bool FileStore::remove(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(id);
    if (found == files_.end()) return false;
    bytes_ -= found->second.bytes;
    files_.erase(found);
  }
  std::error_code error;
  const fs::path removed = folder_ / fmt::format("{}{}", kRemoved, id);
  fs::rename(folder_ / id, removed, error);  // at once, unlike the removal of a folder
  if (!error) fs::remove_all(removed, error);
  if (error) log_warn("{}: is not removed: {}", id, error.message());
  return true;
}

void FileStore::remove_expired() {
  std::vector<std::string> expired;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, file] : files_) {
      if (has_expired(file)) expired.push_back(id);
    }
  }
  for (const std::string& id : expired) remove(id);
}

}  // namespace pippin::server
