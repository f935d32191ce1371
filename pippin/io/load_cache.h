// A cache of arrays that are computed when a model is loaded: the first load stores them, later
// ones map them.
//
// An entry is named by what it is computed from: a SHA-256 of the inputs' bytes, the parameters,
// the versions of this program and of its cache and whatever of the processor decides the bits
// (CacheKey collects them). So there is nothing to invalidate: another input is another name. Entry
// files are written next to their final place and renamed; the array comes first, so that it lies
// at a multiple of a huge page of the file, and the last bytes say what the file is:
//
//   | array | zeros to a multiple of 8 | footer: magic, versions, key, size, checksums, "what of" |
//
// Nothing of a file is used before all of it was checked: its size, the footer by its checksum, the
// key, and the array by a checksum that runs about as fast as memory is read. A file that is
// damaged, cut off, foreign or of another version counts as absent and is replaced.
// docs/decisions/0007-computed-weights-are-cached.md tells why.
//
// The cache never fails its users: whatever goes wrong on the disk costs the speed-up and is said
// once in the log. Any number of threads and processes may use a folder at the same time; what is
// mapped stays valid when its file is removed.
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
#include "pippin/base/fork.h"
#include "pippin/base/mapped_file.h"
#include "pippin/io/digest.h"

namespace pippin {

// What an array is computed from, field by field; lengths are part of it, so that no two lists of
// fields give the same key.
class CacheKey {
 public:
  CacheKey();  // with the versions of this program and of the cache
  CacheKey& add(std::string_view text);
  CacheKey& add(ByteSpan bytes);
  CacheKey& add(int64_t number);
  std::string finish();  // 64 hexadecimal digits, once

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
    bool is_valid = false;  // the footer is; the array is not read
    bool is_folder = false;
    std::string version, what_of;  // where it is
  };
  struct Cleared {
    uint64_t bytes = 0;
    size_t entries = 0;
    size_t others = 0;  // files that are none of the cache's: they stay
  };

  // `folder` is made by the first store(). max_bytes 0: 20 GB or a tenth of the disk, whichever is
  // less.
  explicit LoadCache(std::filesystem::path folder, uint64_t max_bytes = 0);
  LoadCache(const LoadCache&) = delete;
  LoadCache& operator=(const LoadCache&) = delete;
  ~LoadCache();

  const std::filesystem::path& folder() const { return folder_; }
  uint64_t max_bytes() const;

  // The array of `size` bytes, or nothing.
  std::optional<Array> find(const std::string& key, uint64_t size);
  // Whether there is a place for an array of so many bytes, after making room for it. As store(),
  // says once in the log why not.
  bool has_place(uint64_t bytes);
  // Stores an array and maps it; nothing where that did not work. `what_of` is for people. What was
  // used longest ago goes where there is no room, never what this object has found or stored.
  std::optional<Array> store(const std::string& key, ByteSpan bytes, std::string_view what_of);

  // A second name of an entry, by something that is cheaper to know than the inputs' bytes (the
  // identity of their files).
  std::optional<std::string> find_alias(const std::string& alias);
  void store_alias(const std::string& alias, const std::string& key);

  // Folders are entries too, under the rules of arrays but that nothing in them is checked: what
  // another compiler made of a model and reads in place. Filled as start_folder() gives it, one is
  // moved to its place once, by keep_folder(), and never again; where another process was faster,
  // that one's counts. All give nothing where there is none, or no room: what was started is the
  // caller's then.
  std::optional<std::filesystem::path> find_folder(const std::string& key);
  std::optional<std::filesystem::path> start_folder(const std::string& key);
  std::optional<std::filesystem::path> keep_folder(const std::string& key,
                                                   const std::filesystem::path& started,
                                                   std::string_view what_of);
  void drop_folder(const std::string& key);

  // Latest use first. No folder: no entries.
  std::vector<Entry> entries() const;
  // Removes only the cache's own files. Throws Io.
  Cleared clear();

 private:
  class Checker;
  struct Use {
    std::set<std::string> keys;
    uint64_t bytes = 0;        // of their files
    uint64_t total_bytes = 0;  // of the folder
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

// The folder of this user's cache: PIPPIN_CACHE, else pippin in XDG_CACHE_HOME, ~/.cache or (macOS)
// ~/Library/Caches. Empty where PIPPIN_CACHE is set to nothing or there is no home.
std::filesystem::path load_cache_folder(const Environment& environment);
// PIPPIN_CACHE_SIZE: "20 GB", "500M", "1000000"; 0 where it is not set. Throws InvalidArgument.
uint64_t load_cache_size(const Environment& environment);
// The cache that both say, or null.
std::shared_ptr<LoadCache> default_load_cache();

}  // namespace pippin
