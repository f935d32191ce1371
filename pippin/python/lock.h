// The interpreter's lock, given back for long work and taken again, or taken by a thread of
// anybody.
//
// Daemon threads may be anywhere when the interpreter ends. Those in the library are cancelled and
// waited for, since what they use goes with the process, and sleep from then on. One that asks for
// the lock is ended by Python, in the middle of C++ functions, which would end the process with an
// error: it sleeps, too.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python {

// While this lives, the thread is without the lock that it has.
class Unlocked {
 public:
  Unlocked();
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

// Whether the interpreter ends and this is not the thread that ends it: its work is for nothing.
bool is_left_behind() noexcept;

// To be called once, with the lock: from now on the end of the interpreter waits for the library.
void watch_the_end();

}  // namespace pippin::python
