// The files of prompt caches on disk: DIR/IDENTITY/KEY.rows, where the identity names the model
// that computed them and the key the tokens. A separate thread writes them, so that steps do not
// wait for a disk, and removes the least recently used ones above the limit.
//
// Several processes may use a folder: files are written completely or not at all, and a removed
// file is a miss. Failures are logged and have no other effect.
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

#include "pippin/base/threads/thread.h"
#include "pippin/base/threads/worker.h"
#include "pippin/scheduling/cache_file.h"

namespace pippin::scheduling {

class CacheFolder {
 public:
  struct Options {
    std::filesystem::path folder;
    std::string identity;      // 64 hexadecimal digits
    uint64_t limit = 0;        // bytes of all files in the folder
    uint64_t queue_bytes = 0;  // limit of the data waiting to be written
    uint64_t row_bytes = 0;    // per token
  };
  // Creates the folder and removes temporary files of killed processes. Throws Io.
  explicit CacheFolder(Options options);
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder();  // writes pending files

  struct Found {
    std::shared_ptr<CacheFile> file;
    CacheFileHeader header;
  };
  // The files of this identity, sorted by their first tokens' positions.
  std::vector<Found> find();

  // Content to be written: rows from token `first` on, or the rest after all tokens. write()
  // returns null if too much is pending, unless `anyway`.
  struct Content {
    std::vector<int32_t> tokens;
    int64_t first = 0;
    bool is_rest = false;
    const runtime::SequenceRest& content;
  };
  std::shared_ptr<CacheFile> write(Content what, bool anyway = false);
  // The content of a file of a text that begins with these tokens. Returns null and removes the
  // file if its tokens differ or it is damaged.
  std::shared_ptr<const runtime::RowMemory> read(CacheFile& file, std::span<const int32_t> tokens);
  // Begins to read content that will soon be requested.
  void read_ahead(const std::shared_ptr<CacheFile>& file, std::vector<int32_t> tokens);
  // Lets the disk read ahead the content that follows.
  void ask_for(CacheFile& file) const;
  // Marks the file as used now.
  void touch(const CacheFile& file) const;

  struct Counts {
    uint64_t bytes = 0, written = 0, read = 0, discarded = 0;
    uint64_t trimmed = 0;  // number of times that files were removed
  };
  Counts counts() const;

 private:
  struct Job {
    std::shared_ptr<CacheFile> file;
    CacheFileHeader header;
    std::shared_ptr<const runtime::RowMemory> content;
  };
  // A file that is being read into memory.
  struct Reading {
    std::shared_ptr<CacheFile> file;
    uint64_t number = 0;  // of the worker's job
    std::shared_ptr<const runtime::RowMemory> content;
  };
  void run() noexcept;
  std::shared_ptr<const runtime::RowMemory> read_now(CacheFile& file,
                                                     std::span<const int32_t> tokens);
  void write(Job& job) noexcept;
  void discard(CacheFile& file, bool remove);
  void trim();

  const Options options_;
  const std::filesystem::path folder_;  // of this identity
  std::deque<std::shared_ptr<Reading>> readings_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  uint64_t waiting_bytes_ = 0;
  bool is_stopped_ = false, has_warned_ = false;
  std::map<std::string, std::weak_ptr<CacheFile>> files_;
  Counts counts_;

  Thread thread_;  // declared last: it uses all of the above
  Worker reader_;
};

}  // namespace pippin::scheduling
