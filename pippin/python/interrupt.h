// Calls of the library that take long: without the interpreter's lock, and ended by a token or by
// what a handler of a signal raises (Ctrl-C).
#pragma once

#include <cstdint>

#include <pybind11/pybind11.h>

#include "pippin/base/cancel.h"
#include "pippin/base/exception.h"
#include "pippin/python/lock.h"

namespace pippin::python {

// Handlers of signals run in Python's main thread only, and not by themselves while that is in the
// library: it looks for them where it polls for its end, every 50 ms.
class SignalProbe final : public CancelProbe {
 public:
  SignalProbe();
  virtual ~SignalProbe();
  SignalProbe(const SignalProbe&) = delete;
  SignalProbe& operator=(const SignalProbe&) = delete;

  // Also where the interpreter ends.
  bool wants_cancel() noexcept override;
  // What was raised, if anything was. Needs the lock.
  void rethrow();

 private:
  int64_t next_;  // when to look again, in ms
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// Runs `work` without the lock. Throws what it throws, and error_already_set of a handler.
template <typename Work>
void run_call(const CancelToken* token, Work&& work) {
  static const CancelToken none;
  SignalProbe probe;
  try {
    const CancelScope scope(token != nullptr ? *token : none, &probe);
    const Unlocked unlocked;
    work();
  } catch (const Error&) {
    probe.rethrow();
    throw;
  }
  probe.rethrow();
}

}  // namespace pippin::python
