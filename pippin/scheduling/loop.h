// The thread of a Scheduler. All members that the mutex does not guard belong to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pippin/base/call_context.h"
#include "pippin/base/threads/thread.h"
#include "pippin/runtime/batch.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/scheduling/piece_size.h"
#include "pippin/scheduling/prompt_cache.h"
#include "pippin/scheduling/scheduler.h"
#include "pippin/scheduling/task.h"

namespace pippin::scheduling {

class Scheduler::Loop {
 public:
  Loop(std::shared_ptr<runtime::Model> model, Tokenizer tokenizer, const SchedulerOptions& options);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  std::shared_ptr<Job> submit(Request request, std::shared_ptr<Listener> listener);
  SchedulerState state() const;
  int64_t max_prompt() const;
  int64_t max_running() const { return max_running_; }
  void check_rows(const Request& request) const;
  void check_prompt_logprobs(int64_t size) const;

 private:
  using Tasks = std::vector<std::shared_ptr<Task>>;

  void run() noexcept;
  void open_cache() noexcept;
  void step();
  void enqueue(std::shared_ptr<Task> task, bool at_front);
  void begin_waiting();
  bool begin(Task& task);
  // A step that was started.
  struct Flight {
    runtime::Batch batch;
    Tasks tasks = {};
    std::chrono::steady_clock::time_point start = {};
    bool is_alone = false;    // no other sequence decodes
    bool has_failed = false;  // when it was started
  };
  double decode();  // seconds; 0: no sequence decodes
  bool start_step();
  void finish_step();
  void finish_steps();
  void drop_steps() noexcept;
  void decode_alone(Task& task);
  std::span<const int32_t> tokens_to_decode(Task& task, bool is_alone);
  void take(Task& task, std::span<const float> logits, double seconds = 0);
  void read_piece(double decode_seconds);
  std::shared_ptr<Task> next_reader();
  int64_t most_to_read(const Task& task, int64_t left) const;
  int64_t whole_prompt(const Task& task, int64_t left) const;
  int64_t whole_runs(const Task& task, int64_t size) const;
  bool feed_piece(Task& task, int64_t size);
  bool copy_piece(Task& task);
  void keep_decoded();
  void return_sequence(Task& task);
  void check_files();
  void log_lookup(std::span<const int32_t> tokens, std::span<const float> adapters);
  void preempt(std::shared_ptr<Task> task);
  bool preempt_background();
  void make_room();
  void remove_ended();
  void publish();

  const std::shared_ptr<runtime::Model> model_;
  const Tokenizer tokenizer_;
  const int64_t max_running_, max_waiting_;

  const std::function<void()> check_files_;  // SchedulerOptions
  uint64_t seen_damage_;                     // num_damaged_files() at the last check
  std::exception_ptr broken_;                // of a damaged file

  const double step_seconds_;
  const std::shared_ptr<runtime::Drafts> drafts_;
  const PromptCache::Options cache_options_;
  CallContext context_;                 // of the scheduler's creator: the target of log lines
  std::unique_ptr<PromptCache> cache_;  // lives as long as the thread runs
  BlockPool pool_;
  const int64_t row_limit_;
  PieceSize piece_size_;
  runtime::Batch batch_;
  std::deque<std::shared_ptr<Task>> waiting_;  // those in the background last
  Tasks running_;                              // in the order of their beginning
  Tasks ready_;                                // those that can decode now
  std::vector<Flight> flights_;                // the started steps, and free places
  size_t oldest_ = 0, num_started_ = 0;        // of flights_, which is a ring
  std::vector<int32_t> fed_;                   // the last token of a single sequence, and drafts
  size_t next_turn_ = 0;                       // among the requests whose prompt is being read
  uint64_t num_begun_ = 0;
  bool is_tight_ = false;           // after a preemption: none begins until one ends
  bool has_moved_ = false;          // a sequence got a token in this step
  bool is_background_turn_ = true;  // those in the background advance in this step
  SchedulerState counts_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Task>> arrived_;
  bool is_stopped_ = false;
  SchedulerState published_;

  Thread thread_;  // declared last: it uses all of the above
};

}  // namespace pippin::scheduling
