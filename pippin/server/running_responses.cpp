#include "pippin/server/running_responses.h"

#include <utility>

namespace pippin::server {

bool RunningResponse::is_gone() const {
  return is_cancelled() || (!in_background_ && client_->is_gone());
}

void RunningResponse::when_gone(std::function<void()> action) {
  bool is_cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    is_cancelled = is_cancelled_;
    if (!is_cancelled) action_ = action;
  }
  if (is_cancelled) return action();
  if (!in_background_) client_->when_gone(std::move(action));
}

void RunningResponse::cancel() {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    action = std::exchange(action_, {});
  }
  if (action) action();
}

bool RunningResponse::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

void RunningResponse::tell(std::string text, bool has_ended) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
  has_ended_ = has_ended;
  if (!has_ended) return;
  action_ = {};
  changed_.notify_all();
}

std::string RunningResponse::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

std::string RunningResponse::wait(std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [this] { return has_ended_; });
  return text_;
}

void RunningResponses::add(const std::string& id, std::shared_ptr<RunningResponse> response) {
  const std::lock_guard lock(mutex_);
  responses_[id] = std::move(response);
}

void RunningResponses::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  responses_.erase(id);
}

std::shared_ptr<RunningResponse> RunningResponses::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = responses_.find(id);
  return found == responses_.end() ? nullptr : found->second;
}

}  // namespace pippin::server
