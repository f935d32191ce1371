#include "pippin/io/load_cache.h"

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/load_cache_files.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using load_cache::FileKind;
using load_cache::Footer;

uint64_t file_bytes_of(uint64_t array_bytes) {
  return array_bytes + load_cache::padding_after(array_bytes) + load_cache::kFooterBytes;
}

// Removes a temporary file, unless it was moved to its place.
class Partial {
 public:
  explicit Partial(fs::path target)
      : target_(std::move(target)), path_(load_cache::partial_path(target_)) {}
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;
  ~Partial() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  void commit() {
    fs::rename(path_, target_);
    path_.clear();
  }

 private:
  fs::path target_, path_;
};

void write_next_to(const fs::path& target, std::string_view text) {
  Partial partial(target);
  FileWriter writer(partial.path());
  writer.write(text);
  writer.close();
  partial.commit();
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    files.push_back(it->path());
  }
  return files;
}

}  // namespace

CacheKey::CacheKey() : digest_(Digest::sha256()) {
  add("pippin load cache").add(PIPPIN_VERSION).add(int64_t{load_cache::kFormat});
}

CacheKey& CacheKey::add(ByteSpan bytes) {
  add(static_cast<int64_t>(bytes.size()));
  digest_.update(bytes);
  return *this;
}

CacheKey& CacheKey::add(std::string_view text) {
  return add(as_byte_span(text));
}

CacheKey& CacheKey::add(int64_t number) {
  digest_.update(std::as_bytes(std::span(&number, 1)));
  return *this;
}

std::string CacheKey::finish() {
  return digest_.finish();
}

// Computes checksums of arrays, in parallel if it pays off.
class LoadCache::Checker {
 public:
  uint64_t checksum(ByteSpan bytes) {
    return load_cache::checksum(bytes, [&](size_t count, const std::function<void(size_t)>& body) {
      constexpr size_t kWorthSharing = 2;
      if (count < kWorthSharing) {
        for (size_t i = 0; i < count; ++i) body(i);
        return;
      }
      const std::lock_guard lock(mutex_);
      if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>();
      pool_->run([&](int part, int parts) {
        const Range share = split_range(static_cast<int64_t>(count), part, parts);
        for (int64_t i = share.begin; i < share.end; ++i) body(static_cast<size_t>(i));
      });
    });
  }

 private:
  ForkMutex mutex_;
  std::unique_ptr<ThreadPool> pool_;
};

LoadCache::LoadCache(fs::path folder, uint64_t max_bytes)
    : folder_(std::move(folder)),
      wanted_max_bytes_(max_bytes),
      checker_(std::make_unique<Checker>()) {}

LoadCache::~LoadCache() = default;

fs::path LoadCache::entry_path(const std::string& key) const {
  return folder_ / (key + std::string(load_cache::kEntrySuffix));
}

fs::path LoadCache::folder_path(const std::string& key) const {
  return folder_ / (key + std::string(load_cache::kFolderSuffix));
}

fs::path LoadCache::alias_path(const std::string& alias) const {
  return folder_ / (alias + std::string(load_cache::kAliasSuffix));
}

uint64_t LoadCache::max_bytes() const {
  if (wanted_max_bytes_ != 0) return wanted_max_bytes_;
  constexpr uint64_t kMost = 20'000'000'000;
  fs::path place = folder_;
  std::error_code error;
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  const fs::space_info space = fs::space(place, error);
  return error ? kMost : std::min<uint64_t>(kMost, space.capacity / 10);
}

void LoadCache::warn(std::string_view problem) {
  if (std::exchange(use_.access()->has_warned, true)) return;
  log_warn("the load cache stores nothing more, models load slower: {}", problem);
}

// Updates the time of last use, for eviction.
void LoadCache::touch(const fs::path& path) const {
  std::error_code ignored;  // a read-only cache still works
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

std::optional<LoadCache::Array> LoadCache::find(const std::string& key, uint64_t size) {
  const fs::path path = entry_path(key);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    auto file = MappedFile::open(path);
    const ByteSpan bytes = file->bytes();
    std::optional<Footer> footer;
    if (bytes.size() >= load_cache::kFooterBytes) {
      footer =
          load_cache::parse_footer(as_text(bytes.last(load_cache::kFooterBytes)), bytes.size());
    }
    if (footer && footer->key == key && footer->array_bytes == size &&
        footer->version == PIPPIN_VERSION && load_cache::has_clean_padding(bytes, size) &&
        footer->array_checksum == checker_->checksum(bytes.first(size))) {
      touch(path);
      const auto use = use_.access();
      if (use->keys.insert(key).second) use->bytes += bytes.size();
      return Array{std::move(file), bytes.first(size)};
    }
    log_info("{}: damaged, and made anew", path.string());
  } catch (const Error& fault) {
    log_info("{}", fault.what());
  }
  fs::remove(path, error);
  return std::nullopt;
}

// Creates the folder and its tag, and removes temporary files of processes that died.
void LoadCache::prepare_folder(Use& use) const {
  fs::create_directories(folder_);
  if (!fs::exists(folder_ / load_cache::kTagName)) {
    write_file(folder_ / load_cache::kTagName, load_cache::kTagText);
  }
  uint64_t total = 0;
  for (const fs::path& path : files_in(folder_)) {
    std::error_code ignored;
    const FileKind kind = load_cache::kind_of(path);
    if (kind == FileKind::Partial && load_cache::is_abandoned(path)) fs::remove_all(path, ignored);
    if (kind == FileKind::Folder) total += load_cache::folder_bytes(path);
    if (kind != FileKind::Entry) continue;
    const uint64_t size = fs::file_size(path, ignored);
    if (!ignored) total += size;
  }
  use.total_bytes = total;
  use.is_prepared = true;
}

// Returns whether the entry is gone.
bool LoadCache::remove(const Entry& entry) const {
  std::error_code error;
  if (entry.is_folder) {
    fs::remove_all(folder_path(entry.key), error);
  } else {
    fs::remove(entry_path(entry.key), error);
  }
  return !error;
}

// Returns false if the entries in use leave no room.
bool LoadCache::make_room(Use& use, uint64_t bytes) const {
  const uint64_t most = max_bytes();
  if (bytes > most || use.bytes > most - bytes) return false;
  if (use.total_bytes + bytes > most) {
    // Other processes may have written since.
    std::vector<Entry> old = entries();
    use.total_bytes = 0;
    for (const Entry& entry : old) use.total_bytes += entry.file_bytes;
    // Frees a tenth more than needed, so that not every store has to search for old entries.
    const uint64_t enough = most - bytes > most / 10 ? most - bytes - most / 10 : 0;
    if (use.total_bytes + bytes > most) {
      for (; !old.empty() && use.total_bytes > enough; old.pop_back()) {
        if (use.keys.contains(old.back().key) || !remove(old.back())) continue;
        use.total_bytes -= old.back().file_bytes;
      }
    }
  }
  return use.total_bytes + bytes <= most;
}

bool LoadCache::has_place(uint64_t bytes) {
  return find_place(file_bytes_of(bytes), /*take=*/false);
}

// Like has_place(); with `take`, counts the file as written.
bool LoadCache::find_place(uint64_t file_bytes, bool take) {
  try {
    {
      const auto use = use_.access();
      if (use->has_warned) return false;
      if (!use->is_prepared) prepare_folder(*use);
    }
    const fs::space_info space = fs::space(folder_);
    // Free space that the cache leaves: a twentieth of the disk, at most 10 GB.
    const uint64_t reserve = std::min<uint64_t>(space.capacity / 20, 10'000'000'000);
    if (space.available < file_bytes + reserve) {
      warn(
          fmt::format("{}: the disk has {} left", folder_.string(), format_bytes(space.available)));
      return false;
    }
    bool has_room = false;
    {
      const auto use = use_.access();
      has_room = make_room(*use, file_bytes);
      if (has_room && take) use->total_bytes += file_bytes;
    }
    if (!has_room) {
      warn(fmt::format("{}: its limit is {}, see PIPPIN_CACHE_SIZE", folder_.string(),
                       format_bytes(max_bytes())));
    }
    return has_room;
  } catch (const Error& fault) {
    warn(fault.what());
  } catch (const fs::filesystem_error& fault) {
    warn(fmt::format("{}: {}", folder_.string(), fault.code().message()));
  }
  return false;
}

std::optional<LoadCache::Array> LoadCache::store(const std::string& key, ByteSpan bytes,
                                                 std::string_view what_of) {
  if (!find_place(file_bytes_of(bytes.size()), /*take=*/true)) return std::nullopt;
  try {
    Footer footer;
    footer.key = key;
    footer.array_bytes = bytes.size();
    footer.array_checksum = checker_->checksum(bytes);
    footer.version = PIPPIN_VERSION;
    footer.what_of = what_of;
    Partial partial(entry_path(key));
    FileWriter writer(partial.path());
    writer.write(bytes);
    writer.pad_to(8);
    writer.write(load_cache::to_bytes(footer));
    writer.close();
    partial.commit();
  } catch (const Error& fault) {
    warn(fault.what());
    return std::nullopt;
  } catch (const fs::filesystem_error& fault) {
    warn(fmt::format("{}: {}", folder_.string(), fault.code().message()));
    return std::nullopt;
  }
  // Reads the entry back with all checks, to verify what the disk stored.
  return find(key, bytes.size());
}

std::optional<fs::path> LoadCache::find_folder(const std::string& key) {
  const fs::path path = folder_path(key);
  std::error_code error;
  if (!fs::is_regular_file(path / load_cache::kAboutName, error)) return std::nullopt;
  touch(path);
  const auto use = use_.access();
  if (use->keys.insert(key).second) use->bytes += load_cache::folder_bytes(path);
  return path;
}

std::optional<fs::path> LoadCache::start_folder(const std::string& key) {
  if (!find_place(0, /*take=*/false)) return std::nullopt;
  const fs::path path = load_cache::partial_path(folder_path(key));
  std::error_code error;
  if (fs::create_directories(path, error)) return path;
  warn(fmt::format("{}: {}", path.string(), error.message()));
  return std::nullopt;
}

std::optional<fs::path> LoadCache::keep_folder(const std::string& key, const fs::path& started,
                                               std::string_view what_of) {
  if (!find_place(load_cache::folder_bytes(started), /*take=*/true)) return std::nullopt;
  std::error_code error;
  try {
    write_file(started / load_cache::kAboutName, fmt::format("{}\n{}\n", PIPPIN_VERSION, what_of));
    fs::rename(started, folder_path(key), error);  // fails if another process's folder exists
  } catch (const Error& fault) {
    warn(fault.what());
  }
  auto kept = find_folder(key);
  if (kept) fs::remove_all(started, error);
  return kept;
}

void LoadCache::drop_folder(const std::string& key) {
  std::error_code ignored;
  fs::remove_all(folder_path(key), ignored);
}

std::optional<std::string> LoadCache::find_alias(const std::string& alias) {
  try {
    auto key = load_cache::read_alias(alias_path(alias));
    if (key) touch(alias_path(alias));
    return key;
  } catch (const Error& fault) {
    log_info("{}", fault.what());
    return std::nullopt;
  }
}

void LoadCache::store_alias(const std::string& alias, const std::string& key) {
  {
    const auto use = use_.access();
    if (use->has_warned || !use->is_prepared) return;  // no entry is stored that it could name
  }
  try {
    write_next_to(alias_path(alias), load_cache::alias_text(key));
  } catch (const Error& fault) {
    warn(fault.what());
  } catch (const fs::filesystem_error& fault) {
    warn(fmt::format("{}: {}", folder_.string(), fault.code().message()));
  }
}

std::vector<LoadCache::Entry> LoadCache::entries() const {
  std::vector<Entry> result;
  for (const fs::path& path : files_in(folder_)) {
    const FileKind kind = load_cache::kind_of(path);
    if (kind != FileKind::Entry && kind != FileKind::Folder) continue;
    std::error_code error;
    Entry entry;
    entry.key = path.stem().string();
    entry.is_folder = kind == FileKind::Folder;
    entry.file_bytes =
        entry.is_folder ? load_cache::folder_bytes(path) : fs::file_size(path, error);
    if (error) continue;  // removed meanwhile
    const auto written = fs::last_write_time(path, error);
    if (error) continue;
    entry.last_used = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
        std::chrono::file_clock::to_sys(written));
    if (entry.is_folder) {
      std::ifstream about(path / load_cache::kAboutName);
      entry.is_valid = static_cast<bool>(std::getline(about, entry.version)) &&
                       static_cast<bool>(std::getline(about, entry.what_of));
    } else if (const auto footer = load_cache::read_footer(path)) {
      entry.is_valid = footer->key == entry.key;
      entry.version = footer->version;
      entry.what_of = footer->what_of;
    }
    result.push_back(std::move(entry));
  }
  std::sort(result.begin(), result.end(), [](const Entry& a, const Entry& b) {
    return std::tie(b.last_used, a.key) < std::tie(a.last_used, b.key);
  });
  return result;
}

LoadCache::Cleared LoadCache::clear() {
  Cleared cleared;
  for (const fs::path& path : files_in(folder_)) {
    const FileKind kind = load_cache::kind_of(path);
    if (kind == FileKind::Other) {
      ++cleared.others;
      continue;
    }
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (fs::is_directory(status) && (kind == FileKind::Folder || kind == FileKind::Partial)) {
      cleared.bytes += load_cache::folder_bytes(path);
      fs::remove_all(path, error);
      if (error) fail(ErrorCode::Io, "{}: cannot be removed: {}", path.string(), error.message());
      if (kind == FileKind::Folder) ++cleared.entries;
      continue;
    }
    if (!fs::is_regular_file(status) && !fs::is_symlink(status)) {
      if (fs::exists(status)) ++cleared.others;
      continue;
    }
    const uint64_t size = fs::is_symlink(status) ? 0 : fs::file_size(path, error);
    if (!fs::remove(path, error)) {
      if (!error) continue;  // another process was faster
      fail(ErrorCode::Io, "{}: cannot be removed: {}", path.string(), error.message());
    }
    if (size != static_cast<uint64_t>(-1)) cleared.bytes += size;
    if (kind == FileKind::Entry) ++cleared.entries;
  }
  std::error_code ignored;
  if (cleared.others == 0) fs::remove(folder_, ignored);
  use_.access()->is_prepared = false;
  return cleared;
}

}  // namespace pippin
