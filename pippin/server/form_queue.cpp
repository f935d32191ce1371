#include "pippin/server/form_queue.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/server/api_error.h"

namespace pippin::server {
namespace {

using Clock = std::chrono::steady_clock;

// Two, so that a typical form does not wait for a slow one.
constexpr size_t kThreads = 2;
constexpr size_t kMaxWaiting = 64;

class Deadline final : public CancelProbe {
 public:
  Deadline(const http::Reply& reply, std::chrono::milliseconds limit)
      : reply_(reply), end_(Clock::now() + limit) {}
  virtual ~Deadline() = default;

  bool wants_cancel() noexcept override {
    is_late_ = is_late_ || Clock::now() >= end_;
    return is_late_ || reply_.is_gone();
  }
  bool is_late() const { return is_late_; }

 private:
  const http::Reply& reply_;
  const Clock::time_point end_;
  bool is_late_ = false;
};

}  // namespace

FormQueue::FormQueue(std::chrono::milliseconds limit)
    : limit_(limit), workers_(kThreads, kMaxWaiting) {}

FormQueue::~FormQueue() {
  is_stopping_.request();
}

std::shared_ptr<constrain::Constraint> FormQueue::compile(app::FormCompiler& compiler,
                                                          const app::AnswerForm& form,
                                                          const http::Reply& reply,
                                                          const std::string& param) const {
  Deadline deadline(reply, limit_);
  const CancelScope scope(is_stopping_, &deadline);
  try {
    return compiler.compile(form);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) {
      throw ApiError(400, param + ": " + error.what(), param);
    }
    if (!deadline.is_late()) throw ApiError(503, "the request was cancelled");
    throw ApiError(400,
                   fmt::format("{}: compiling it takes longer than {:.3g} s", param,
                               std::chrono::duration<double>(limit_).count()),
                   param);
  }
}

}  // namespace pippin::server
