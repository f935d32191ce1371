// The batches of clients, on disk:
//
//   FOLDER/batch_0123.../batch.json    its record
//                       /input.jsonl   another name of the file of requests, until it ends
//                       /job           the queue of its requests (batch/job.h), until it ends
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/server/batch_record.h"

namespace pippin::server {

// Thread-safe. The folder belongs to this object alone.
class BatchStore {
 public:
  // Removes the folders of batches whose creation was cut off. Throws Io.
  explicit BatchStore(std::filesystem::path folder);

  // Adds a batch under a new id. `link_input` makes the file of requests at a path. Throws Io, and
  // its errors; then nothing is kept.
  BatchRecord add(BatchRecord batch,
                  const std::function<void(const std::filesystem::path& path)>& link_input);
  // Any text may be an id.
  std::optional<BatchRecord> find(const std::string& id) const;
  std::vector<BatchRecord> list() const;        // in the order of their creation
  std::vector<BatchRecord> unfinished() const;  // in the same order
  // Changes a record, on disk as well; `change` returns whether to. Returns the record as it is
  // then. Throws Io, and the errors of `change`; then the record stays.
  BatchRecord update(const std::string& id, const std::function<bool(BatchRecord& batch)>& change);
  // Changes the counts in memory.
  void count(const std::string& id, const BatchCounts& counts);
  // Removes the files of a batch that has ended, except for its record.
  void remove_work(const std::string& id);

  std::filesystem::path input_of(const std::string& id) const;
  std::filesystem::path job_of(const std::string& id) const;

  // Waits for a change of any record that is not `seen`, for `longest` at most, and sets `seen` to
  // the last one. Returns false after stop().
  bool wait(uint64_t& seen, std::chrono::milliseconds longest);
  void notify();  // as if a record had changed
  void stop();

 private:
  std::filesystem::path record_of(const std::string& id) const;
  std::vector<BatchRecord> sorted(bool only_unfinished) const;
  void load();

  const std::filesystem::path folder_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::map<std::string, BatchRecord> batches_;
  uint64_t changes_ = 0;
  bool is_stopped_ = false;
};

}  // namespace pippin::server
