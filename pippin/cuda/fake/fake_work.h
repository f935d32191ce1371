// Streams of the fake driver: work runs only when the host waits for it, so that results read too
// early are absent.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "pippin/cuda/driver/types.h"

namespace pippin::cuda {

using FakeWork = std::function<Result()>;

class FakeStream {
 public:
  void add(FakeWork work);
  void add(const std::vector<FakeWork>& work);
  uint64_t num_added() const { return added_; }
  // Runs work until so much has run; stops at an error and returns it.
  Result run_until(uint64_t count);
  Result run_all() { return run_until(added_); }

  // Between these, work is collected.
  void begin_capture() { is_captured_ = true; }
  std::vector<FakeWork> end_capture();
  bool is_captured() const { return is_captured_; }

 private:
  std::deque<FakeWork> work_;
  uint64_t added_ = 0, done_ = 0;
  bool is_captured_ = false;
  std::vector<FakeWork> captured_;
};

}  // namespace pippin::cuda
