#include "pippin/hub/transfer_threads.h"

#include <thread>
#include <utility>
#include <vector>

#include "pippin/base/call_context.h"

namespace pippin::hub {

void TransferThreads::run_threads(int count, const std::function<void(Connection&, size_t)>& work) {
  std::vector<std::thread> threads;
  try {
    threads.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([this, i, &work, &call = CallContext::current()] {
        const ContextScope scope(call);
        try {
          Connection connection(settings_, reached_, &stop_);
          work(connection, static_cast<size_t>(i));
        } catch (...) {
          remember(std::current_exception());
        }
        changed_.notify_all();
      });
    }
  } catch (...) {
    remember(std::current_exception());
  }
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void TransferThreads::remember(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  stop_ = true;
}

}  // namespace pippin::hub
