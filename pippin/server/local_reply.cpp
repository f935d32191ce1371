#include "pippin/server/local_reply.h"

#include <utility>

#include "pippin/base/threads/cancel.h"

namespace pippin::server {

void LocalReply::send(http::Response response) {
  const std::lock_guard lock(mutex_);
  status_ = response.status;
  pieces_.push_back(std::move(response.body));
  has_ended_ = true;
  changed_.notify_all();
}

void LocalReply::begin(const http::Response& head, std::string /*comment*/,
                       std::chrono::milliseconds /*silence*/) {
  const std::lock_guard lock(mutex_);
  status_ = head.status;
}

void LocalReply::write(std::string piece) {
  const std::lock_guard lock(mutex_);
  pieces_.push_back(std::move(piece));
  changed_.notify_all();
}

void LocalReply::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

bool LocalReply::is_gone() const {
  const std::lock_guard lock(mutex_);
  return is_gone_;
}

void LocalReply::when_gone(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_gone_) {
      when_gone_ = std::move(action);
      return;
    }
  }
  action();
}

int LocalReply::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

// Returns false at the end. An empty `piece` means that nothing arrived yet.
bool LocalReply::next(std::string& piece) {
  constexpr std::chrono::milliseconds kWait{50};
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kWait, [&] { return !pieces_.empty() || has_ended_; });
  piece.clear();
  if (pieces_.empty()) return !has_ended_;
  piece = std::move(pieces_.front());
  pieces_.pop_front();
  return true;
}

void LocalReply::leave() {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    action = std::exchange(when_gone_, {});
    is_gone_ = !has_ended_;
    if (has_ended_) return;
  }
  if (action) action();
}

http::Response LocalReply::receive(const OnBytes& on_bytes, const std::atomic<bool>* stop) {
  http::Response result;
  for (std::string piece; next(piece);) {
    result.status = status();
    const bool is_taken = on_bytes && result.status == 200;
    const bool goes_on = (stop == nullptr || !stop->load()) && !cancel_requested();
    if (!goes_on || (is_taken && !piece.empty() && !on_bytes(piece))) {
      check_cancel();
      return result;
    }
    if (!is_taken) result.body += piece;
  }
  result.status = status();
  return result;
}

}  // namespace pippin::server
