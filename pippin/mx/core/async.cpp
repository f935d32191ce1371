#include <mutex>
#include <vector>

#include "pippin/base/threads/fork.h"
#include "pippin/base/threads/worker.h"
#include "pippin/mx/core/array.h"
#include "pippin/mx/core/eval.h"

namespace pippin::mx {
namespace {

// One thread for all asynchronous evaluations.
struct Ahead {
  ForkMutex mutex;
  Worker worker;
};
Ahead& ahead() {
  static auto* const instance = new Ahead();  // outlives static arrays
  return *instance;
}

}  // namespace

void async_eval(std::span<const array> arrays) {
  std::vector<array> pending;
  for (const array& each : arrays) {
    if (!each.is_available()) pending.push_back(each);
  }
  if (pending.empty()) return;
  const std::lock_guard lock(ahead().mutex);
  ahead().worker.add([pending = std::move(pending)] {
    try {
      eval(pending);
    } catch (...) {
      // The caller that needs the numbers computes them again and gets the error.
    }
  });
}

void synchronize() {
  const std::lock_guard lock(ahead().mutex);
  ahead().worker.wait_all();
}

}  // namespace pippin::mx
