#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/repl/transport.h"
#include "pippin/server/endpoints.h"

namespace pippin::repl {
namespace {

using namespace std::chrono_literals;

// Passes an answer from one thread to another.
class LocalReply final : public server::LoggedReply {
 public:
  void send(http::Response response) override {
    const std::lock_guard lock(mutex_);
    status_ = response.status;
    pieces_.push_back(std::move(response.body));
    has_ended_ = true;
    changed_.notify_all();
  }
  void begin(const http::Response& head, std::string /*comment*/,
             std::chrono::milliseconds /*silence*/) override {
    const std::lock_guard lock(mutex_);
    status_ = head.status;
  }
  void write(std::string piece) override {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
    changed_.notify_all();
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }
  bool is_gone() const override {
    const std::lock_guard lock(mutex_);
    return is_gone_;
  }
  void when_gone(std::function<void()> action) override {
    {
      const std::lock_guard lock(mutex_);
      if (!is_gone_) {
        when_gone_ = std::move(action);
        return;
      }
    }
    action();
  }
  void note_model(const std::string& /*name*/) override {}
  void note_usage(const server::Usage& /*usage*/) override {}
  void note_ignored(const std::vector<std::string>& /*fields*/) override {}
  const std::string& id() const override { return id_; }

  // Functions for the receiving thread.
  int status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  // Returns false at the end. An empty `piece` means that nothing arrived yet.
  bool next(std::string& piece) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 50ms, [&] { return !pieces_.empty() || has_ended_; });
    piece.clear();
    if (pieces_.empty()) return !has_ended_;
    piece = std::move(pieces_.front());
    pieces_.pop_front();
    return true;
  }
  void leave() {
    std::function<void()> action;
    {
      const std::lock_guard lock(mutex_);
      is_gone_ = true;
      action = std::exchange(when_gone_, {});
    }
    if (action) action();
  }

 private:
  const std::string id_ = "chat";
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  std::function<void()> when_gone_;
  int status_ = 0;
  bool has_ended_ = false, is_gone_ = false;
};

// Ends the work when the receiver leaves, for any reason.
struct Leaving {
  LocalReply& reply;
  ~Leaving() { reply.leave(); }
};

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(server::ModelListOptions options)
      : models_(std::move(options)), forms_(24h), endpoints_(models_, forms_, transcriptions_, 1h) {
    try {
      models_.get("");
    } catch (const server::ApiError& error) {
      check_cancel();
      fail(ErrorCode::InvalidFile, "{}", error.what());
    }
  }
  LocalTransport(const LocalTransport&) = delete;
  LocalTransport& operator=(const LocalTransport&) = delete;
  ~LocalTransport() override { models_.stop(); }

  Reply call(const std::string& path, const std::string& body, const OnBytes& on_bytes,
             const std::atomic<bool>* stop) override {
    http::Request request;
    if (!http::split_target(path, request)) {
      fail(ErrorCode::InvalidArgument, "{}: no path of a request", path);
    }
    request.body = body;
    const auto reply = std::make_shared<LocalReply>();
    const Leaving leaving{*reply};
    try {
      answer(request, reply);
    } catch (const server::ApiError& error) {
      return {error.status, server::error_body(error, server::Dialect::OpenAi)};
    }
    Reply result;
    for (std::string piece; reply->next(piece);) {
      result.status = reply->status();
      const bool is_taken = on_bytes && result.status == 200;
      const bool goes_on = (stop == nullptr || !stop->load()) && !cancel_requested();
      if (!goes_on || (is_taken && !piece.empty() && !on_bytes(piece))) {
        check_cancel();
        return result;
      }
      if (!is_taken) result.body += piece;
    }
    result.status = reply->status();
    return result;
  }

 private:
  void answer(const http::Request& request, const std::shared_ptr<LocalReply>& reply) {
    if (request.path == "/v1/chat/completions") {
      endpoints_.chat(request, reply);
    } else if (request.path == "/v1/completions") {
      endpoints_.completions(request, reply);
    } else if (request.path == "/props") {
      endpoints_.props(request, reply);
    } else if (request.path == "/v1/models") {
      reply->send(endpoints_.models());
    } else {
      throw server::ApiError(404, "unknown endpoint " + request.path);
    }
  }

  server::ModelList models_;
  server::FormQueue forms_;  // without a time limit, because the user can cancel
  server::LongJobs transcriptions_;
  server::Endpoints endpoints_;
};

}  // namespace

std::unique_ptr<Transport> serve_here(server::ModelListOptions options) {
  return std::make_unique<LocalTransport>(std::move(options));
}

}  // namespace pippin::repl
