// A shard that this process works on: the requests that lack an answer, and its files.
//
//   parts/00000003.OWNER.partial   answers as they come
//   parts/00000003.OWNER.begun     requests that this process has begun, a line each: "17", or
//                                  "17 alone"
//   parts/00000003.jsonl           all answers in the order of the requests
//
// The first two of a process that died stay. Its answers count. The requests that it had begun and
// not answered are computed alone, after all others. A request that was computed alone when two
// processes crashed, or when four were killed, is not computed again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/files/output.h"
#include "pippin/batch/job.h"

namespace pippin::batch {

// Not thread-safe.
class Shard {
 public:
  // Reads the answers of earlier owners.
  Shard(const Job& job, size_t number, const std::string& owner);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  size_t number() const { return number_; }
  const Request& request(size_t index) const { return requests_[index]; }
  // Indexes of requests to begin: any number at once in this order, which puts common beginnings,
  // or texts of similar length, next to each other; and those that must run alone.
  std::deque<size_t>& pending() { return pending_; }
  std::deque<size_t>& alone() { return alone_; }

  void begin(size_t index, bool alone);
  void answer(size_t index, std::string line);
  size_t num_answered() const { return num_answered_; }
  bool is_complete() const { return num_answered_ == requests_.size(); }
  // Makes the answers so far survive a crash of the machine.
  void sync();
  // Publishes the answers of a complete shard. Returns false if another process was quicker.
  bool commit();
  // Leaves the answers to the next owner, and forgets the begun requests.
  void leave();

 private:
  void read_earlier();
  struct Deaths {
    int any = 0;    // of processes that had begun the request
    int blame = 0;  // for those that computed nothing else
  };
  void sort_out(const std::vector<Deaths>& deaths);

  const Job& job_;
  const size_t number_;
  const std::string owner_;
  const std::filesystem::path partial_path_, begun_path_;
  const std::vector<Request> requests_;
  std::vector<std::string> answers_;  // empty: none yet
  size_t num_answered_ = 0;
  std::deque<size_t> pending_, alone_;
  std::unique_ptr<FileWriter> partial_, begun_;
  bool is_dirty_ = false;
};

// An empty file that a process creates when it crashes: when a signal for a fault ends it, not
// another process.
std::filesystem::path crash_mark(const Job& job, std::string_view owner);

// The answers of a shard that is not complete yet, as (line) texts, each custom_id once.
std::vector<std::string> partial_answers(const Job& job, size_t number);

}  // namespace pippin::batch
