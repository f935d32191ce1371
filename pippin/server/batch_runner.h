// Carries out the batches of clients: checks their files, computes the requests, one batch at a
// time in the order of their creation, and stores the answers. A batch goes on where a process that
// was killed left it: its requests are a queue of batch/job.h.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "pippin/base/call_context.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread.h"
#include "pippin/batch/request.h"
#include "pippin/http/message.h"
#include "pippin/server/kept_files.h"

namespace pippin::server {

struct BatchRunnerOptions {
  size_t texts = 1;    // requests for texts at once
  size_t vectors = 1;  // requests of other kinds at once
  std::function<bool(const std::string& name)> has_model;
  // Answers a request, whose id is given; throws Cancelled if the calling thread is cancelled.
  std::function<http::Response(const http::Request& request, const std::string& id)> call;
  // Called with the path of a file that should be created if the process crashes; null: none.
  std::function<void(const std::filesystem::path& path)> on_job = {};
  std::chrono::milliseconds try_again{5'000};  // after a failure of the disk
};

class BatchRunner {
 public:
  BatchRunner(KeptFiles& kept, BatchRunnerOptions options);
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;
  ~BatchRunner();  // as stop(), and waits until the answers so far are stored

  // Ends the requests under way, which a later process repeats.
  void stop();

 private:
  void advance_all();
  void advance(const BatchRecord& batch);
  void validate(const BatchRecord& batch);
  void finish(const BatchRecord& batch);
  bool is_at_work(const std::string& id);
  void stop_work(const std::string& id);

  void work_on_all();
  void work_on(const BatchRecord& batch);
  batch::Answer answer(const std::string& job, const batch::Request& request) const;
  template <typename Step>
  void guard(const BatchRecord& batch, const Step& step);

  KeptFiles& kept_;
  const BatchRunnerOptions options_;
  CallContext context_;
  CancelToken is_stopping_;
  std::mutex mutex_;        // guards the members below
  std::string at_work_;     // the batch whose requests are computed
  CancelToken stops_work_;  // on it
  Thread steps_, work_;     // last: they use all of the above
};

}  // namespace pippin::server
