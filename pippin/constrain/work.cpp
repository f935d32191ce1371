#include "pippin/constrain/work.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"

namespace pippin::constrain {
namespace {

constexpr uint64_t kLook = 1 << 14;  // steps between two checks for cancellation

}  // namespace

void Work::look() {
  if (done_ >= end_) {
    fail(ErrorCode::LimitExceeded, "{} takes more than {} steps of work", what_, steps_);
  }
  check_cancel();
  next_look_ = std::min(done_ + kLook, end_);
}

Work::Limit::Limit(Work& work, uint64_t steps, const char* what)
    : work_(work), outer_end_(work.end_), outer_steps_(work.steps_), outer_what_(work.what_) {
  const uint64_t left = std::numeric_limits<uint64_t>::max() - work.done_;
  const uint64_t end = work.done_ + std::min(steps, left);
  if (end >= work.end_) return;
  work.end_ = end;
  work.steps_ = steps;
  work.what_ = what;
  work.next_look_ = std::min(work.next_look_, end);
}

Work::Limit::~Limit() {
  work_.end_ = outer_end_;
  work_.steps_ = outer_steps_;
  work_.what_ = outer_what_;
  work_.next_look_ = 0;  // the next step checks
}

}  // namespace pippin::constrain
