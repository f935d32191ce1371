// The reply to a request of this process: passes the answer from one thread to another.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/server/endpoints.h"

namespace pippin::server {

class LocalReply final : public LoggedReply {
 public:
  explicit LocalReply(std::string id) : id_(std::move(id)) {}

  void send(http::Response response) override;
  void begin(const http::Response& head, std::string comment,
             std::chrono::milliseconds silence) override;
  void write(std::string piece) override;
  void end() override;
  bool is_gone() const override;
  void when_gone(std::function<void()> action) override;
  void note_model(const std::string& /*name*/) override {}
  void note_usage(const Usage& /*usage*/) override {}
  void note_ignored(const std::vector<std::string>& /*fields*/) override {}
  const std::string& id() const override { return id_; }

  // Receives the bytes of a streamed answer as they arrive. Returning false ends it.
  using OnBytes = std::function<bool(std::string_view bytes)>;

  // For the receiving thread: returns at the end of the answer, which comes soon after `stop` (may
  // be null) is set, also for errors. With status 200, the body goes to `on_bytes` if there is one.
  // Throws Cancelled if the calling thread is cancelled.
  http::Response receive(const OnBytes& on_bytes = {}, const std::atomic<bool>* stop = nullptr);
  // Ends the work if it has not ended.
  void leave();

  // Leaves at the end of a scope.
  struct Leaving {
    LocalReply& reply;
    ~Leaving() { reply.leave(); }
  };

 private:
  int status() const;
  bool next(std::string& piece);

  const std::string id_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  std::function<void()> when_gone_;
  int status_ = 0;
  bool has_ended_ = false, is_gone_ = false;
};

}  // namespace pippin::server
