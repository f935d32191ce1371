// Responses that clients can retrieve or continue: in memory, and in a folder if there is one, each
// up to a limit in bytes. The least recently used ones are evicted first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "pippin/base/threads/worker.h"
#include "pippin/server/response_folder.h"

namespace pippin::server {

struct ResponseStoreOptions {
  uint64_t limit = uint64_t{256} << 20;  // of memory, and of the folder; 0: nothing is stored
  std::filesystem::path folder;          // empty: only memory
};

// Thread-safe.
class ResponseStore {
 public:
  // Throws Io.
  explicit ResponseStore(const ResponseStoreOptions& options);

  bool keeps() const { return limit_ > 0; }
  // A separate thread writes the files, so that steps do not wait for a disk. A failing disk only
  // causes a line in the log.
  void put(const std::string& id, std::string text);
  std::optional<std::string> get(const std::string& id);
  // Returns false if it was not there.
  bool remove(const std::string& id);

 private:
  struct Entry {
    std::string id, text;
  };
  using Entries = std::list<Entry>;  // most recently used first

  bool forget(const std::string& id);
  void add(const std::string& id, std::string text);
  template <typename Write>
  void write(Write&& write);

  const uint64_t limit_;
  std::optional<ResponseFolder> folder_;
  std::mutex mutex_;  // guards the members below
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> places_;
  uint64_t bytes_ = 0;
  std::unordered_set<std::string> removing_;  // ids of files to remove
  uint64_t removals_ = 0;                     // so far
  bool has_warned_ = false;
  Worker writer_;  // last: it uses all of the above
};

}  // namespace pippin::server
