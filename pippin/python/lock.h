// Releases and reacquires the global interpreter lock (GIL) around long work, and acquires it on
// any thread.
//
// Daemon threads can be anywhere when the interpreter ends. Those in the library are cancelled and
// waited for, since their data goes with the process; afterwards they sleep. Python would end a
// thread that requests the GIL in the middle of C++ functions, which would end the process with an
// error, so such a thread sleeps as well.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python {

// Releases the GIL, which the thread holds, while it lives.
class Unlocked {
 public:
  Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

 private:
  PyThreadState* const state_;
};

// Holds the GIL while it lives, whether or not the thread held it before.
class Locked {
 public:
  Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// Runs `work` without the GIL. Its exceptions pass through.
template <typename Work>
void without_lock(Work&& work) {
  const Unlocked unlocked;
  work();
}

// Whether the interpreter ends and this is not the thread that ends it, so its work is useless.
bool is_left_behind() noexcept;

// Call once, with the GIL: makes the end of the interpreter wait for the library.
void watch_the_end();

}  // namespace pippin::python
