#include "pippin/python/interrupt.h"

#include <ctime>

namespace pippin::python {
namespace {

constexpr int64_t kProbeInterval = 50;  // ms

int64_t now() noexcept {
#ifdef CLOCK_MONOTONIC_COARSE
  constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;  // queried between the steps of a plan
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec time = {};
  clock_gettime(kClock, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace

SignalProbe::SignalProbe() : next_(now() + kProbeInterval) {}

SignalProbe::~SignalProbe() {
  Py_XDECREF(type_);
  Py_XDECREF(value_);
  Py_XDECREF(trace_);
}

bool SignalProbe::wants_cancel() noexcept {
  if (type_ != nullptr || is_left_behind()) return true;
  if (now() < next_) return false;
  const Locked lock;
  next_ = now() + kProbeInterval;
  if (PyErr_CheckSignals() == 0) return false;
  PyErr_Fetch(&type_, &value_, &trace_);
  return true;
}

void SignalProbe::rethrow() {
  if (type_ == nullptr) return;
  PyErr_Restore(type_, value_, trace_);
  type_ = value_ = trace_ = nullptr;
  throw pybind11::error_already_set();
}

}  // namespace pippin::python
