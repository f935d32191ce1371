// A driver for tests: memory of the host, streams and graphs whose work runs late, and kernels as
// C++. It checks contexts, handles, the bounds of copies and the limits of launches, fails on
// request, and expects that everything has been released when it ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "pippin/cuda/driver/driver.h"

namespace pippin::cuda {

struct FakeFacts {
  int devices = 1;
  int major = 9, minor = 0;
  int version = 12040;
  uint64_t memory_bytes = uint64_t{1} << 30;
};

// One at a time. Its functions may be called by several threads.
class FakeDriver {
 public:
  explicit FakeDriver(const FakeFacts& facts = {});
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  // Resources that were not released are failures of GoogleTest.
  ~FakeDriver();

  const Driver& driver() const;

  // The n-th call from now on, counted from 1, fails with that result. After a sticky one all
  // others fail too.
  void fail_at(int64_t n, Result result);
  // The same for the next call of that function.
  void fail_next(std::string_view symbol, Result result);

  int64_t calls() const;
  int64_t calls(std::string_view symbol) const;          // "cuGraphLaunch"
  int64_t launches(std::string_view entry_point) const;  // that have run: "rms_norm_lanes"
  uint64_t bytes_to_device() const;
  uint64_t bytes_to_host() const;
  uint64_t memory_bytes() const;  // allocated on the device
  std::string error() const;      // of the last kernel that failed

  struct State;

 private:
  std::unique_ptr<State> state_;
  Driver driver_;
};

}  // namespace pippin::cuda
