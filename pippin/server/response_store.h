// Responses that clients may ask for again, or go on from: in memory, and in a folder if there is
// one, each up to a limit of bytes. The longest unused ones leave first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "pippin/base/worker.h"
#include "pippin/server/response_folder.h"

namespace pippin::server {

struct ResponseStoreOptions {
  uint64_t limit = uint64_t{256} << 20;  // of memory, and of the folder; 0: nothing is kept
  std::filesystem::path folder;          // empty: memory alone
};

// Any thread.
class ResponseStore {
 public:
  // Throws Io.
  explicit ResponseStore(const ResponseStoreOptions& options);

  bool keeps() const { return limit_ > 0; }
  // Files are written by a thread of their own, so that steps do not wait for a disk. A disk that
  // fails is a line of the log.
  void put(const std::string& id, std::string text);
  std::optional<std::string> get(const std::string& id);
  // False where it was not there.
  bool remove(const std::string& id);

 private:
  struct Entry {
    std::string id, text;
  };
  using Entries = std::list<Entry>;  // the one used last comes first

  bool forget(const std::string& id);
  void add(const std::string& id, std::string text);
  template <typename Write>
  void write(Write&& write);

  const uint64_t limit_;
  std::optional<ResponseFolder> folder_;
  std::mutex mutex_;  // of what follows
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> places_;
  uint64_t bytes_ = 0;
  std::unordered_set<std::string> removing_;  // files that are to go
  uint64_t removals_ = 0;                     // so far
  bool has_warned_ = false;
  Worker writer_;  // last: it uses all of the above
};

}  // namespace pippin::server
