#include "pippin/python/lock.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <unistd.h>

#include "pippin/base/fork.h"

namespace pippin::python {
namespace {

using namespace std::chrono_literals;

// A step of a plan, or loading a model, may take longer than anybody wants to wait.
constexpr auto kLockPatience = 3s;

// Threads in the library, without the lock.
struct Visitors {
  std::atomic<int> count{0};
  std::atomic<bool> is_over{false};
  std::thread::id ending;  // the thread that ends the interpreter, since is_over
  uint32_t process = 0;    // whose threads these are, by its fork count

  // Needs the lock: a child has one thread, and no other one of its parent's.
  void adopt_fork() {
    if (process == fork_count()) return;
    process = fork_count();
    count = 0;
  }
};
Visitors visitors;

[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

// Is destroyed with `is_safe` false where Python ends the thread, and keeps it then.
struct Keeper {
  bool is_safe = false;
  ~Keeper() {
    if (!is_safe) sleep_for_ever();
  }
};

PyThreadState* give_back() {
  visitors.adopt_fork();
  PyThreadState* const state = PyEval_SaveThread();
  ++visitors.count;
  if (is_left_behind()) {
    --visitors.count;
    sleep_for_ever();
  }
  return state;
}

// Not inside the destructor, which nothing may leave.
__attribute__((noinline)) void take_back(PyThreadState* state) {
  --visitors.count;
  if (is_left_behind()) sleep_for_ever();
  Keeper keeper;
  PyEval_RestoreThread(state);
  keeper.is_safe = true;
}

// Python's atexit, in the thread that ends the interpreter.
void end() {
  visitors.adopt_fork();
  visitors.ending = std::this_thread::get_id();
  visitors.is_over = true;
  PyThreadState* const state = PyEval_SaveThread();
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  while (visitors.count > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  PyEval_RestoreThread(state);
}

}  // namespace

Unlocked::Unlocked() : state_(give_back()) {}

Unlocked::~Unlocked() {
  take_back(state_);
}

Locked::Locked() {
  Keeper keeper;
  state_ = PyGILState_Ensure();
  keeper.is_safe = true;
}

bool is_left_behind() noexcept {
  return visitors.is_over && visitors.ending != std::this_thread::get_id();
}

void watch_the_end() {
  pybind11::module_::import("atexit").attr("register")(pybind11::cpp_function(&end));
}

}  // namespace pippin::python
