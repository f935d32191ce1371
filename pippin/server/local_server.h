// Answers requests of this process with the server's code, without connections.
#pragma once

#include <atomic>
#include <string>

#include "pippin/server/endpoints.h"
#include "pippin/server/local_reply.h"

namespace pippin::server {

// Thread-safe.
class LocalServer {
 public:
  explicit LocalServer(ModelListOptions options, const ResponseStoreOptions& responses = {});
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;
  ~LocalServer();  // ends running requests

  ModelList& models() { return models_; }

  using OnBytes = LocalReply::OnBytes;

  // Returns at the end of the answer, which comes soon after `stop` (may be null) is set, also for
  // errors. With status 200, the body goes to `on_bytes` if there is one. `id` is a part of the ids
  // in the answer. Throws Cancelled if the calling thread is cancelled.
  http::Response call(const http::Request& request, const std::string& id,
                      const OnBytes& on_bytes = {}, const std::atomic<bool>* stop = nullptr);

 private:
  void answer(const http::Request& request, const Endpoints::Replying& reply);

  ModelList models_;
  FormQueue forms_;  // without a time limit, because the caller can cancel
  LongJobs transcriptions_;
  Endpoints endpoints_;
};

}  // namespace pippin::server
