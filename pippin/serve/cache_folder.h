// The files of prompt caches on disk: DIR/IDENTITY/KEY.rows, where the identity names what computed
// them and the key the tokens. A thread of its own writes them, so that steps do not wait for a
// disk, and removes what was not used for longest where the limit is passed.
//
// Several processes may use a folder: files appear complete or not at all, and one that is gone is
// a miss. What fails is a line of the log and nothing else.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/thread.h"
#include "pippin/base/worker.h"
#include "pippin/serve/cache_file.h"

namespace pippin::serve {

class CacheFolder {
 public:
  struct Options {
    std::filesystem::path folder;
    std::string identity;      // 64 hexadecimal digits
    uint64_t limit = 0;        // bytes of all files in the folder
    uint64_t queue_bytes = 0;  // of what may wait to be written
    uint64_t row_bytes = 0;    // of a token
  };
  // Makes the folder, and removes what killed processes left. Throws Io.
  explicit CacheFolder(Options options);
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder();  // writes what waits

  struct Found {
    std::shared_ptr<CacheFile> file;
    CacheFileHeader header;
  };
  // The files of this identity, those that begin earlier in the text first.
  std::vector<Found> find();

  // What is to be a file, soon: rows of the tokens from the first one on, or the rest behind all
  // tokens. Null where too much waits already, unless `anyway`.
  struct Content {
    std::vector<int32_t> tokens;
    int64_t first = 0;
    bool is_rest = false;
    const runtime::SequenceRest& content;
  };
  std::shared_ptr<CacheFile> write(Content what, bool anyway = false);
  // The content of a file of a text that begins with these tokens. Null, and the file is gone,
  // where it has others or is damaged.
  std::shared_ptr<const runtime::RowMemory> read(CacheFile& file, std::span<const int32_t> tokens);
  // Begins to read what will be asked for soon.
  void read_ahead(const std::shared_ptr<CacheFile>& file, std::vector<int32_t> tokens);
  // Lets the disk begin with what will be read after that.
  void ask_for(CacheFile& file) const;
  // It was used now.
  void touch(const CacheFile& file) const;

  struct Counts {
    uint64_t bytes = 0, written = 0, read = 0, discarded = 0;
    uint64_t trimmed = 0;  // times that files were removed
  };
  Counts counts() const;

 private:
  struct Job {
    std::shared_ptr<CacheFile> file;
    CacheFileHeader header;
    std::shared_ptr<const runtime::RowMemory> content;
  };
  // A file on its way into memory.
  struct Reading {
    std::shared_ptr<CacheFile> file;
    uint64_t number = 0;  // of the job
    std::shared_ptr<const runtime::RowMemory> content;
  };
  void run() noexcept;
  std::shared_ptr<const runtime::RowMemory> read_now(CacheFile& file,
                                                     std::span<const int32_t> tokens);
  void write(Job& job) noexcept;
  void discard(CacheFile& file, bool remove);
  void trim();

  const Options options_;
  const std::filesystem::path folder_;  // of the identity
  std::deque<std::shared_ptr<Reading>> readings_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  uint64_t waiting_bytes_ = 0;
  bool is_stopped_ = false, has_warned_ = false;
  std::map<std::string, std::weak_ptr<CacheFile>> files_;
  Counts counts_;

  Thread thread_;  // these last: they use all of the above
  Worker reader_;
};

}  // namespace pippin::serve
