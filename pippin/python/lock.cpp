#include "pippin/python/lock.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <unistd.h>

#include "pippin/base/threads/fork.h"

namespace pippin::python {
namespace {

using namespace std::chrono_literals;

// A step of a plan, or loading a model, may take longer than the interpreter's end should wait.
constexpr auto kLockPatience = 3s;

// Counts the threads that are in the library, without the GIL.
struct Visitors {
  std::atomic<int> count{0};
  std::atomic<bool> is_over{false};
  std::thread::id ending;  // the thread that ends the interpreter, once is_over
  uint32_t process = 0;    // the process of these threads, by its fork count

  // Needs the GIL. After a fork the child has only one thread, so the parent's are forgotten.
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

// If Python ends the thread, the destructor runs with `is_safe` false and blocks it.
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

// Not inlined in the destructor, which exceptions must not leave.
__attribute__((noinline)) void take_back(PyThreadState* state) {
  --visitors.count;
  if (is_left_behind()) sleep_for_ever();
  Keeper keeper;
  PyEval_RestoreThread(state);
  keeper.is_safe = true;
}

// Registered with Python's atexit; runs in the thread that ends the interpreter.
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
