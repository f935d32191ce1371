#include "pippin/server/pull_queue.h"

namespace pippin::server {
namespace {

constexpr size_t kThreads = 2;
constexpr size_t kMaxWaiting = 64;

class ClientProbe final : public CancelProbe {
 public:
  explicit ClientProbe(const http::Reply& reply) : reply_(reply) {}
  virtual ~ClientProbe() = default;
  bool wants_cancel() noexcept override { return reply_.is_gone(); }

 private:
  const http::Reply& reply_;
};

}  // namespace

PullQueue::PullQueue() : workers_(kThreads, kMaxWaiting) {}

PullQueue::~PullQueue() {
  is_stopping_.request();
}

app::PullReport PullQueue::pull(const std::string& model, const http::Reply& reply,
                                const app::PullObserver& observer) const {
  ClientProbe probe(reply);
  const CancelScope scope(is_stopping_, &probe);
  return app::pull({.repo = model}, observer);
}

}  // namespace pippin::server
