// Downloads models from the Hub for clients, in separate threads: a download may take hours.
#pragma once

#include <functional>
#include <string>

#include "pippin/app/open/pull.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/http/server.h"
#include "pippin/server/workers.h"

namespace pippin::server {

class PullQueue {
 public:
  PullQueue();
  PullQueue(const PullQueue&) = delete;
  PullQueue& operator=(const PullQueue&) = delete;
  ~PullQueue();  // drops waiting tasks, cancels running ones

  // Runs `task`, which must not throw, in a thread of the queue. Returns false if too many tasks
  // wait.
  bool add(std::function<void()> task) { return workers_.add(std::move(task)); }
  // Call it in such a thread. It ends when the client disconnects or the server stops; bytes
  // downloaded by then are kept for the next try. Throws the errors of app::pull().
  app::PullReport pull(const std::string& model, const http::Reply& reply,
                       const app::PullObserver& observer) const;

 private:
  CancelToken is_stopping_;
  Workers workers_;
};

}  // namespace pippin::server
