#include "pippin/batch/worker.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/call_context.h"
#include "pippin/base/shortened.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread.h"
#include "pippin/batch/shard.h"

namespace pippin::batch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Several threads take requests of up to two open shards, so that the end of a shard does not leave
// threads without work.
class Work {
 public:
  Work(const Job& job, std::string owner, const Answering& answer, const WorkerOptions& options)
      : job_(job),
        owner_(std::move(owner)),
        answer_(answer),
        options_(options),
        claims_(job.claims(), options.times),
        is_committed_(job.shards.size()) {}

  WorkerResult run() {
    {
      const CallContext context = CallContext::current();
      std::vector<Thread> threads;
      threads.reserve(options_.in_flight);
      try {
        for (; num_threads_ < options_.in_flight; ++num_threads_) {
          threads.emplace_back([this, &context] {
            const ContextScope scope(context);
            take_requests();
          });
        }
      } catch (...) {
        const std::lock_guard lock(mutex_);
        stop(std::current_exception());
      }
      watch();
    }
    leave();
    if (error_) std::rethrow_exception(error_);
    check_cancel();
    return result_;
  }

 private:
  struct Task {
    std::list<Shard>::iterator shard;
    std::vector<size_t> indexes;  // one or several requests
    std::vector<const Request*> requests;
    bool alone = false;
  };

  // Until all threads have ended: renews claims, brings answers to the disk, tells the progress.
  void watch() {
    std::unique_lock lock(mutex_);
    for (auto last_sync = Clock::now(); num_ended_ < num_threads_;) {
      changed_.wait_for(lock, 100ms);
      try {
        claims_.beat();
        if (Clock::now() - last_sync > 1s) {
          last_sync = Clock::now();
          for (Shard& shard : open_) shard.sync();
        }
      } catch (...) {
        stop(std::current_exception());
      }
      if (cancel_requested()) stop(nullptr);
      const uint64_t done = num_done();
      if (options_.on_progress) {
        lock.unlock();
        options_.on_progress(done, job_.requests);
        lock.lock();
      }
    }
  }

  void leave() {
    for (Shard& shard : open_) {
      try {
        shard.leave();
      } catch (...) {
        if (!error_) error_ = std::current_exception();
      }
      claims_.release(shard.number());
    }
  }

  uint64_t num_done() const {
    uint64_t done = 0;
    for (size_t i = 0; i < is_committed_.size(); ++i) {
      if (is_committed_[i]) done += job_.size_of(i);
    }
    for (const Shard& shard : open_) done += shard.num_answered();
    return done;
  }

  void stop(std::exception_ptr error) {
    if (!error_) error_ = std::move(error);
    is_stopping_ = true;
    changed_.notify_all();
  }

  void take_requests() {
    std::unique_lock lock(mutex_);
    try {
      while (auto task = next(lock)) {
        lock.unlock();
        std::exception_ptr error;
        std::vector<Answer> answers;
        try {
          answers = answer_(task->requests);
        } catch (...) {
          error = std::current_exception();
        }
        lock.lock();
        if (error) std::rethrow_exception(error);
        finish(*task, answers);  // also when the work stops
      }
    } catch (...) {
      stop(std::current_exception());
    }
    ++num_ended_;
    changed_.notify_all();
  }

  // Waits for a request; returns nothing when there will be none.
  std::optional<Task> next(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      if (is_stopping_) return std::nullopt;
      if (!is_alone_) {
        if (auto task = next_open()) return task;
        if (all_committed()) return std::nullopt;
        if (open_.size() < kMostOpen && Clock::now() >= next_search_) {
          if (open_another() || all_committed()) continue;
          // All other shards are complete or have living owners.
          next_search_ =
              Clock::now() + std::min<std::chrono::milliseconds>(1s, options_.times.stale / 4);
        }
      }
      changed_.wait_for(lock, 100ms);
    }
  }

  std::optional<Task> next_open() {
    for (auto shard = open_.begin(); shard != open_.end(); ++shard) {
      if (!shard->pending().empty()) return begin(shard, shard->pending(), false);
    }
    if (num_running_ > 0) return std::nullopt;
    for (auto shard = open_.begin(); shard != open_.end(); ++shard) {
      if (!shard->alone().empty()) return begin(shard, shard->alone(), true);
    }
    return std::nullopt;
  }

  Task begin(std::list<Shard>::iterator shard, std::deque<size_t>& from, bool alone) {
    Task task{shard, {}, {}, alone};
    for (size_t i = 0; i < (alone ? 1 : options_.group) && !from.empty(); ++i) {
      const size_t index = from.front();
      shard->begin(index, alone);
      task.indexes.push_back(index);
      task.requests.push_back(&shard->request(index));
      from.pop_front();
    }
    is_alone_ = alone;
    ++num_running_;
    return task;
  }

  void finish(const Task& task, const std::vector<Answer>& answers) {
    for (size_t i = 0; i < answers.size(); ++i) {
      const Request& request = *task.requests[i];
      ++result_.answered;
      if (answers[i].status != 200 && ++result_.failed == 1) {
        result_.first_failure =
            fmt::format("line {} (custom_id {}): status {}: {}", request.line,
                        shortened(request.custom_id), answers[i].status, error_message(answers[i]));
      }
      task.shard->answer(task.indexes[i], answer_line(job_.id, request, answers[i]));
    }
    --num_running_;
    if (task.alone) is_alone_ = false;
    if (task.shard->is_complete()) commit(task.shard);
    changed_.notify_all();
  }

  void commit(std::list<Shard>::iterator shard) {
    shard->commit();
    is_committed_[shard->number()] = true;
    claims_.finish(shard->number());
    open_.erase(shard);
    next_search_ = {};
  }

  bool all_committed() const {
    return std::all_of(is_committed_.begin(), is_committed_.end(), [](bool one) { return one; });
  }

  // Whether the shard was completed by a process.
  bool look_for_part(size_t number) {
    if (!is_committed_[number]) {
      is_committed_[number] = fs::exists(job_.part(number)) || fs::exists(job_.merged());
    }
    return is_committed_[number];
  }

  // Claims a shard without answers. Returns false if there is none.
  bool open_another() {
    std::vector<size_t> candidates;
    const size_t count = job_.shards.size();
    const auto first = static_cast<size_t>(options_.first_share * static_cast<double>(count));
    for (size_t i = 0; i < count; ++i) {
      const size_t number = (first + i) % count;
      const bool is_open = std::any_of(
          open_.begin(), open_.end(), [&](const Shard& shard) { return shard.number() == number; });
      if (!is_open && !look_for_part(number)) candidates.push_back(number);
    }
    if (candidates.empty()) return false;
    const auto taken = claims_.take_one(candidates);
    if (!taken) return false;
    if (look_for_part(*taken)) {  // completed in between
      claims_.finish(*taken);
      return true;
    }
    open_.emplace_back(job_, *taken, owner_);
    if (open_.back().is_complete()) commit(std::prev(open_.end()));
    return true;
  }

  static constexpr size_t kMostOpen = 2;

  const Job& job_;
  const std::string owner_;
  const Answering& answer_;
  const WorkerOptions& options_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  Claims claims_;
  std::list<Shard> open_;
  std::vector<bool> is_committed_;
  Clock::time_point next_search_{};
  size_t num_threads_ = 0, num_ended_ = 0, num_running_ = 0;
  bool is_alone_ = false, is_stopping_ = false;
  std::exception_ptr error_;
  WorkerResult result_;
};

}  // namespace

WorkerResult work(const Job& job, const std::string& owner, const Answering& answer,
                  const WorkerOptions& options) {
  return Work(job, owner, answer, options).run();
}

}  // namespace pippin::batch
