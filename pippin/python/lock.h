// The interpreter's lock, given back for long work and taken again, or taken by a thread of
// anybody.
//
// A thread that asks for the lock of an interpreter that ends is ended by Python then, in the
// middle of C++ functions, which would end the process with an error. Here it sleeps until the
// process is gone.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python {

// While this lives, the thread is without the lock that it has.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

 private:
  PyThreadState* const state_;
};

// While this lives, the thread has the lock, whether it had it before or not.
class Locked {
 public:
  Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// Runs `work` without the lock. What it throws, comes out.
template <typename Work>
void without_lock(Work&& work) {
  const Unlocked unlocked;
  work();
}

}  // namespace pippin::python
