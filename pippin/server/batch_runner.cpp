#include "pippin/server/batch_runner.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/log.h"
#include "pippin/batch/job.h"
#include "pippin/batch/shard.h"
#include "pippin/batch/status.h"
#include "pippin/batch/worker.h"
#include "pippin/server/batch_calls.h"
#include "pippin/server/batch_lines.h"
#include "pippin/server/batch_outputs.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 1s;  // for batches that expire
constexpr MissingAnswer kExpired = {
    "batch_expired", "This request could not be executed before the completion window expired."};
constexpr MissingAnswer kCancelled = {
    "batch_cancelled", "This request was not executed because the batch was cancelled."};

int64_t seconds_now() {
  return time_ns() / 1'000'000'000;
}

bool is_late(const BatchRecord& batch) {
  return batch.expires_at <= seconds_now();
}

bool is_damage(ErrorCode code) {
  return code == ErrorCode::InvalidFile || code == ErrorCode::NotFound ||
         code == ErrorCode::InvalidArgument;
}

// Throws Cancelled.
void pause(std::chrono::milliseconds time) {
  constexpr auto kStep = 50ms;
  for (auto left = time; left > 0ms; left -= kStep) {
    check_cancel();
    std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(left, kStep));
  }
  check_cancel();
}

batch::Job open_queue(const BatchStore& batches, const std::string& id, const std::string& owner) {
  return batch::open_job(batches.job_of(id), {.input = batches.input_of(id)}, owner);
}

}  // namespace

BatchRunner::BatchRunner(KeptFiles& kept, BatchRunnerOptions options)
    : kept_(kept), options_(std::move(options)) {
  context_.logger = CallContext::current().logger;
  steps_ = Thread([this] {
    const ContextScope context(context_);
    const CancelScope scope(is_stopping_);
    advance_all();
  });
  work_ = Thread([this] {
    const ContextScope context(context_);
    const CancelScope scope(is_stopping_);
    work_on_all();
  });
}

BatchRunner::~BatchRunner() {
  stop();
}

void BatchRunner::stop() {
  is_stopping_.request();
  kept_.batches.stop();
}

// Damaged files end the batch. Another failure, such as that of a full disk, may be temporary.
template <typename Step>
void BatchRunner::guard(const BatchRecord& batch, const Step& step) {
  try {
    try {
      step();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled) return;
      if (!is_damage(error.code())) throw;
      log_warn("{} fails: {}", batch.id, error.what());
      kept_.batches.update(batch.id, [&](BatchRecord& now) {
        now.status = BatchStatus::Failed;
        now.failed_at = seconds_now();
        now.errors.push_back(
            {.code = "server_error", .message = "The server cannot read what it stored of it."});
        return true;
      });
      kept_.batches.remove_work(batch.id);
    }
  } catch (const std::exception& error) {
    log_warn("{} is tried again soon: {}", batch.id, error.what());
    try {
      pause(options_.try_again);
    } catch (const Error&) {  // the server is ending
      return;
    }
  }
}

// --- the thread of short steps ---

void BatchRunner::advance_all() {
  uint64_t seen = 0;
  do {
    for (const BatchRecord& batch : kept_.batches.unfinished()) {
      if (is_stopping_.is_requested()) return;
      guard(batch, [&] { advance(batch); });
    }
    kept_.files.remove_expired();
  } while (kept_.batches.wait(seen, kLook));
}

void BatchRunner::advance(const BatchRecord& batch) {
  const bool is_open =
      batch.status == BatchStatus::Validating || batch.status == BatchStatus::InProgress;
  if (batch.status == BatchStatus::Cancelling || (is_open && is_late(batch))) {
    if (is_at_work(batch.id)) return stop_work(batch.id);
    return finish(batch);
  }
  if (batch.status == BatchStatus::Finalizing) return finish(batch);
  if (batch.status == BatchStatus::Validating) validate(batch);
}

void BatchRunner::validate(const BatchRecord& batch) {
  const auto input = MappedFile::open(kept_.batches.input_of(batch.id), StandIns::Allow);
  const std::string_view text(reinterpret_cast<const char*>(input->bytes().data()),
                              input->bytes().size());
  const CheckedLines checked =
      check_lines(text, {batch.endpoint, kept_.options.max_requests, options_.has_model});
  const bool is_valid = checked.faults.empty();
  if (is_valid) open_queue(kept_.batches, batch.id, batch::Claims::new_owner());
  kept_.batches.update(batch.id, [&](BatchRecord& now) {
    if (now.status != BatchStatus::Validating) return false;
    now.counts.total = checked.requests;
    now.errors = checked.faults;
    now.status = is_valid ? BatchStatus::InProgress : BatchStatus::Failed;
    (is_valid ? now.in_progress_at : now.failed_at) = seconds_now();
    return true;
  });
  if (!is_valid) kept_.batches.remove_work(batch.id);
}

void BatchRunner::finish(const BatchRecord& batch) {
  const bool is_cancelled = batch.status == BatchStatus::Cancelling;
  const bool is_complete = batch.status == BatchStatus::Finalizing;
  BatchRecord ended = batch;
  if (std::filesystem::exists(kept_.batches.job_of(batch.id) / "job.json")) {
    const batch::Job job = open_queue(kept_.batches, batch.id, batch::Claims::new_owner());
    store_outputs(job, is_cancelled ? kCancelled : kExpired, kept_.files, ended);
  }
  kept_.batches.update(batch.id, [&](BatchRecord& now) {
    now.counts = ended.counts;
    now.usage = ended.usage;
    now.output_file_id = ended.output_file_id;
    now.error_file_id = ended.error_file_id;
    now.status = is_complete    ? BatchStatus::Completed
                 : is_cancelled ? BatchStatus::Cancelled
                                : BatchStatus::Expired;
    (is_complete    ? now.completed_at
     : is_cancelled ? now.cancelled_at
                    : now.expired_at) = seconds_now();
    return true;
  });
  kept_.batches.remove_work(batch.id);
  log_info("{}: {} of {} requests answered, {} failed", batch.id, ended.counts.completed,
           ended.counts.total, ended.counts.failed);
}

bool BatchRunner::is_at_work(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return at_work_ == id;
}

void BatchRunner::stop_work(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (at_work_ == id) stops_work_.request();
}

// --- the thread of the requests ---

void BatchRunner::work_on_all() {
  uint64_t seen = 0;
  while (!is_stopping_.is_requested()) {
    const std::vector<BatchRecord> batches = kept_.batches.unfinished();
    const auto next = std::find_if(batches.begin(), batches.end(), [](const BatchRecord& batch) {
      return batch.status == BatchStatus::InProgress && !is_late(batch);
    });
    if (next != batches.end()) {
      guard(*next, [&] { work_on(*next); });
    } else if (!kept_.batches.wait(seen, kLook)) {
      return;
    }
  }
}

void BatchRunner::work_on(const BatchRecord& batch) {
  struct AtWork {
    BatchRunner& runner;
    ~AtWork() {
      {
        const std::lock_guard lock(runner.mutex_);
        runner.at_work_.clear();
      }
      runner.kept_.batches.notify();
    }
  };
  {
    const std::lock_guard lock(mutex_);
    at_work_ = batch.id;
    stops_work_.reset();
  }
  const AtWork at_work{*this};
  const auto now = kept_.batches.find(batch.id);  // it may have been cancelled before at_work_
  if (!now || now->status != BatchStatus::InProgress) return;
  const std::string owner = batch::Claims::new_owner();
  const batch::Job job = open_queue(kept_.batches, batch.id, owner);
  if (options_.on_job) options_.on_job(batch::crash_mark(job, owner));
  const batch::JobStatus before = batch::status_of(job);
  BatchCounts counts{job.requests, before.answered - before.failed, before.failed};
  kept_.batches.count(batch.id, counts);
  std::mutex counting;
  const batch::Answering answering = [&](std::span<const batch::Request* const> requests) {
    std::vector<batch::Answer> answers = {answer(job.id, *requests.front())};
    const std::lock_guard lock(counting);
    ++(answers.front().status == 200 ? counts.completed : counts.failed);
    kept_.batches.count(batch.id, counts);
    return answers;
  };
  const BatchEndpoint* const endpoint = find_batch_endpoint(batch.endpoint);
  const bool is_text = endpoint != nullptr && endpoint->model == BatchModel::Writer;
  const CancelScope scope(stops_work_);
  batch::work(job, owner, answering, {.in_flight = is_text ? options_.texts : options_.vectors});
  kept_.batches.update(batch.id, [&](BatchRecord& done) {
    if (done.status != BatchStatus::InProgress) return false;
    done.status = BatchStatus::Finalizing;
    done.finalizing_at = seconds_now();
    return true;
  });
}

// While the server is busy, or has no room for the model, the request waits.
batch::Answer BatchRunner::answer(const std::string& job, const batch::Request& request) const {
  constexpr std::chrono::milliseconds kLongest = 10s;
  const http::Request call = batch_call(request, 0);
  const std::string id = batch::request_id(job, request.custom_id);
  for (std::chrono::milliseconds time = 200ms;; time = std::min(2 * time, kLongest)) {
    http::Response response = options_.call(call, id);
    check_cancel();  // else it is the answer to a request that was cut off
    if (response.status != 503) return {response.status, std::move(response.body)};
    pause(time);
  }
}

}  // namespace pippin::server
