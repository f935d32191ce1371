// Long calls of the library: they release the GIL, and end on a cancel token or on an exception of
// a signal handler (Ctrl-C).
#pragma once

#include <cstdint>

#include <pybind11/pybind11.h>

#include "pippin/base/exception.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/python/lock.h"

namespace pippin::python {

// Python runs signal handlers only in its main thread, and not while that is in the library. The
// main thread therefore checks for them where it polls for cancellation, every 50 ms.
class SignalProbe final : public CancelProbe {
 public:
  SignalProbe();
  virtual ~SignalProbe();
  SignalProbe(const SignalProbe&) = delete;
  SignalProbe& operator=(const SignalProbe&) = delete;

  // Also true if the interpreter ends.
  bool wants_cancel() noexcept override;
  // Throws the exception that a handler raised, if any. Needs the GIL.
  void rethrow();

 private:
  int64_t next_;  // next time to check, in ms
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// Runs `work` without the GIL. Throws its exceptions, and error_already_set of a handler.
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
