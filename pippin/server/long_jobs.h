// Work that takes minutes or hours, such as downloads and transcriptions, in separate threads.
#pragma once

#include <functional>
#include <utility>

#include "pippin/base/threads/cancel.h"
#include "pippin/http/server.h"
#include "pippin/server/workers.h"

namespace pippin::server {

class LongJobs {
 public:
  LongJobs();
  LongJobs(const LongJobs&) = delete;
  LongJobs& operator=(const LongJobs&) = delete;
  ~LongJobs();  // drops waiting tasks, cancels running ones

  // Runs `task`, which must not throw, in a thread of its own. Returns false if too many tasks
  // wait.
  bool add(std::function<void()> task) { return workers_.add(std::move(task)); }
  // Call it in such a thread. `work` is cancelled when the client disconnects or the server stops.
  template <typename Work>
  auto run(const http::Reply& reply, Work&& work) const {
    ClientProbe probe(reply);
    const CancelScope scope(is_stopping_, &probe);
    return std::forward<Work>(work)();
  }

 private:
  class ClientProbe final : public CancelProbe {
   public:
    explicit ClientProbe(const http::Reply& reply) : reply_(reply) {}
    virtual ~ClientProbe() = default;
    bool wants_cancel() noexcept override { return reply_.is_gone(); }

   private:
    const http::Reply& reply_;
  };

  CancelToken is_stopping_;
  Workers workers_;
};

}  // namespace pippin::server
