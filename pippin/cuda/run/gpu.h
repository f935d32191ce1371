// One opened GPU: its context, which every entry point of the device makes current, and whether it
// still works.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "pippin/cuda/driver/driver.h"
#include "pippin/cuda/launchers/launcher.h"

namespace pippin::cuda {

class Gpu {
 public:
  // Throws Unsupported for a GPU that is too old, NotFound if there are fewer.
  Gpu(const Driver& driver, int index);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  // Makes the context current on this thread. Throws Error(Device) if the GPU has failed.
  void enter() const;
  // Calls a function of the driver: call<&Driver::release>(address). Throws as Driver::check();
  // after an error from which a context does not recover, the GPU has failed.
  template <auto Member, typename... Arguments>
  void call(Arguments... arguments) const {
    if (const Result result = (driver_.*Member)(arguments...); result != 0) {
      refuse(result, kSymbol<Member>);
    }
  }
  // For destructors: without enter(), and errors are ignored.
  template <auto Member, typename... Arguments>
  void release(Arguments... arguments) const noexcept {
    driver_.set_context(context_);
    (driver_.*Member)(arguments...);
  }
  // Throws the error of a function's result.
  [[noreturn]] void refuse(Result result, std::string_view function) const;

  const Driver& driver() const { return driver_; }
  const Limits& limits() const { return limits_; }
  int driver_version() const { return driver_version_; }
  // Whether a kernel may start before the one before has ended (programmatic dependent launch).
  bool starts_early() const { return limits_.major >= 9 && driver_version_ >= 12030; }
  uint64_t free_bytes() const;

 private:
  int attribute(DeviceAttribute what) const;

  const Driver& driver_;
  DeviceNumber number_ = 0;
  Context context_ = nullptr;
  Limits limits_;
  int driver_version_ = 0;
  mutable std::atomic<bool> is_dead_ = false;
  mutable std::mutex mutex_;
  mutable std::string failure_;  // of a dead one
};
using GpuPointer = std::shared_ptr<const Gpu>;

// The oldest compute capability with kernels.
constexpr int kLeastMajor = 7, kLeastMinor = 5;

}  // namespace pippin::cuda
