#include "pippin/cuda/fake/fake_work.h"

#include <utility>

namespace pippin::cuda {

void FakeStream::add(FakeWork work) {
  if (is_captured_) {
    captured_.push_back(std::move(work));
    return;
  }
  work_.push_back(std::move(work));
  ++added_;
}

void FakeStream::add(const std::vector<FakeWork>& work) {
  for (const FakeWork& one : work) add(one);
}

Result FakeStream::run_until(uint64_t count) {
  while (done_ < count) {
    const FakeWork work = std::move(work_.front());
    work_.pop_front();
    ++done_;
    if (const Result result = work(); result != 0) return result;
  }
  return 0;
}

std::vector<FakeWork> FakeStream::end_capture() {
  is_captured_ = false;
  return std::exchange(captured_, {});
}

}  // namespace pippin::cuda
