#include "pippin/server/local_server.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "pippin/base/threads/cancel.h"
#include "pippin/server/routes.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;

// Passes an answer from one thread to another.
class LocalReply final : public LoggedReply {
 public:
  explicit LocalReply(std::string id) : id_(std::move(id)) {}

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
  void note_usage(const Usage& /*usage*/) override {}
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
  const std::string id_;
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

}  // namespace

LocalServer::LocalServer(ModelListOptions options, const ResponseStoreOptions& responses)
    : models_(std::move(options)),
      forms_(24h),
      endpoints_(models_, forms_, transcriptions_, 1h, nullptr, nullptr, responses) {}

LocalServer::~LocalServer() {
  models_.stop();
}

void LocalServer::answer(const http::Request& request, const Endpoints::Replying& reply) {
  try {
    const Route* const route = find_route(request.method, request.path);
    if (route != nullptr && route->handler != nullptr) {
      (endpoints_.*route->handler)(request, reply);
    } else if (route != nullptr && route->status == Status::Models) {
      reply->send(endpoints_.models());
    } else {
      throw ApiError(404, "unknown endpoint " + request.path);
    }
  } catch (...) {
    reply->send(error_response(api_error(std::current_exception()), dialect_of(request.path)));
  }
}

http::Response LocalServer::call(const http::Request& request, const std::string& id,
                                 const OnBytes& on_bytes, const std::atomic<bool>* stop) {
  const auto reply = std::make_shared<LocalReply>(id);
  const Leaving leaving{*reply};
  answer(request, reply);
  http::Response result;
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

}  // namespace pippin::server
