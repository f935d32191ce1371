// A cache of arrays that are computed at model load: the first load stores them, later loads map
// them.
//
// The name of an entry depends on everything that its content is computed from: a SHA-256 of the
// inputs' bytes, the parameters, the versions of this program and its cache, and the processor
// features that affect the bits (CacheKey collects them). So entries never need invalidation:
// another input has another name. Files are written next to their final place and renamed. The
// array comes first, so that it is aligned to a multiple of a huge page, and a footer describes the
// file:
//
//   | array | zeros to a multiple of 8 | footer: magic, versions, key, size, checksums, "what of" |
//
// A file is used only after all checks: its size, the footer and its checksum, the key, and the
// array's checksum, which runs at about memory speed. A file that is damaged, truncated, foreign or
// of another version counts as missing and is replaced.
// docs/decisions/0007-computed-weights-are-cached.md gives the reasons.
//
// The cache never fails its users: on a disk error the load is only slower, and the log says so
// once. Any number of threads and processes may use a folder concurrently; mapped entries stay
// valid after their file is removed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/threads/fork.h"
#include "pippin/io/digest.h"

namespace pippin {

// Collects the inputs of an array, field by field. Lengths are included, so that different lists of
// fields never give the same key.
class CacheKey {
 public:
  CacheKey();  // includes the versions of this program and of the cache
  CacheKey& add(std::string_view text);
  CacheKey& add(ByteSpan bytes);
  CacheKey& add(int64_t number);
  std::string finish();  // 64 hexadecimal digits; call once

 private:
  Digest digest_;
};

class LoadCache {
 public:
  struct Array {
    std::shared_ptr<const MappedFile> file;  // keeps `bytes` mapped
    ByteSpan bytes;
  };
  struct Entry {
    std::string key;
    uint64_t file_bytes = 0;
    std::chrono::system_clock::time_point last_used;
    bool is_valid = false;  // true for the footer; the array is not read
    bool is_folder = false;
    std::string version, what_of;  // if valid
  };
  struct Cleared {
    uint64_t bytes = 0;
    size_t entries = 0;
    size_t others = 0;  // files that do not belong to the cache; they stay
  };

  // The first store() creates `folder`. max_bytes 0: 20 GB or a tenth of the disk, whichever is
  // less.
  explicit LoadCache(std::filesystem::path folder, uint64_t max_bytes = 0);
  LoadCache(const LoadCache&) = delete;
  LoadCache& operator=(const LoadCache&) = delete;
  ~LoadCache();

  const std::filesystem::path& folder() const { return folder_; }
  uint64_t max_bytes() const;

  // Returns the array of `size` bytes, or nothing.
  std::optional<Array> find(const std::string& key, uint64_t size);
  // Returns whether there is room for an array of `bytes` bytes, after evicting others. Logs the
  // reason once if there is not, as store() does.
  bool has_place(uint64_t bytes);
  // Stores an array and maps it; returns nothing on failure. `what_of` is a description for users.
  // If space is short, evicts the least recently used entries, but never those that this object
  // has found or stored.
  std::optional<Array> store(const std::string& key, ByteSpan bytes, std::string_view what_of);

  // A second name for an entry, derived from data that is cheaper to get than the inputs' bytes
  // (the identity of their files).
  std::optional<std::string> find_alias(const std::string& alias);
  void store_alias(const std::string& alias, const std::string& key);

  // Folders are entries, too, for the output of other compilers that is used in place. The rules
  // for arrays apply, but the content is not checked. The caller fills the folder that
  // start_folder() returns; keep_folder() moves it to its place once. If another process was
  // faster, its folder is kept. Each returns nothing without an entry or space; then the
  // caller must remove the started folder.
  std::optional<std::filesystem::path> find_folder(const std::string& key);
  std::optional<std::filesystem::path> start_folder(const std::string& key);
  std::optional<std::filesystem::path> keep_folder(const std::string& key,
                                                   const std::filesystem::path& started,
                                                   std::string_view what_of);
  void drop_folder(const std::string& key);

  // Most recently used first; empty if the folder does not exist.
  std::vector<Entry> entries() const;
  // Removes only the cache's own files. Throws Io.
  Cleared clear();

 private:
  class Checker;
  struct Use {
    std::set<std::string> keys;
    uint64_t bytes = 0;        // of the files in use
    uint64_t total_bytes = 0;  // of the whole folder
    bool is_prepared = false, has_warned = false;
  };
  void warn(std::string_view problem);
  bool find_place(uint64_t file_bytes, bool take);
  bool make_room(Use& use, uint64_t bytes) const;
  void prepare_folder(Use& use) const;
  void touch(const std::filesystem::path& path) const;
  bool remove(const Entry& entry) const;
  std::filesystem::path entry_path(const std::string& key) const;
  std::filesystem::path folder_path(const std::string& key) const;
  std::filesystem::path alias_path(const std::string& alias) const;

  std::filesystem::path folder_;
  uint64_t wanted_max_bytes_;
  ForkGuarded<Use> use_;
  std::unique_ptr<Checker> checker_;
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// Returns this user's cache folder: PIPPIN_CACHE, else pippin in XDG_CACHE_HOME, ~/.cache or
// (macOS) ~/Library/Caches. Empty if PIPPIN_CACHE is empty or HOME is not set.
std::filesystem::path load_cache_folder(const Environment& environment);
// Reads PIPPIN_CACHE_SIZE: "20 GB", "500M", "1000000". Returns 0 if it is not set. Throws
// InvalidArgument.
uint64_t load_cache_size(const Environment& environment);
// Returns the cache with the folder and size of the environment, or null.
std::shared_ptr<LoadCache> default_load_cache();

}  // namespace pippin
