#include "pippin/python/lock.h"

#include <unistd.h>

namespace pippin::python {
namespace {

// Is destroyed with `is_safe` false where Python ends the thread, and keeps it then.
struct Keeper {
  bool is_safe = false;
  ~Keeper() {
    while (!is_safe) pause();
  }
};

// Not inside the destructor, which nothing may leave.
__attribute__((noinline)) void take_back(PyThreadState* state) {
  Keeper keeper;
  PyEval_RestoreThread(state);
  keeper.is_safe = true;
}

}  // namespace

Unlocked::~Unlocked() {
  take_back(state_);
}

Locked::Locked() {
  Keeper keeper;
  state_ = PyGILState_Ensure();
  keeper.is_safe = true;
}

}  // namespace pippin::python
