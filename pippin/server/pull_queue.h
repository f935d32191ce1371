// Downloads models from the Hub for clients, in threads of its own: a download may take hours.
#pragma once

#include <functional>
#include <string>

#include "pippin/app/pull.h"
#include "pippin/base/cancel.h"
#include "pippin/http/server.h"
#include "pippin/server/workers.h"

namespace pippin::server {

class PullQueue {
 public:
  PullQueue();
  PullQueue(const PullQueue&) = delete;
  PullQueue& operator=(const PullQueue&) = delete;
  ~PullQueue();  // drops waiting tasks, cancels running ones

  // Runs `task`, which may not throw, in a thread of the queue. False if too many wait.
  bool add(std::function<void()> task) { return workers_.add(std::move(task)); }
  // Called in such a thread. Ends when the client leaves or the server ends; bytes downloaded by
  // then is kept for the next try. Throws as app::pull().
  app::PullReport pull(const std::string& model, const http::Reply& reply,
                       const app::PullObserver& observer) const;

 private:
  CancelToken is_stopping_;
  Workers workers_;
};

}  // namespace pippin::server
