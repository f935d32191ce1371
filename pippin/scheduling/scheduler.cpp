#include "pippin/scheduling/scheduler.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_guard.h"
#include "pippin/base/log.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/steps_in_flight.h"
#include "pippin/scheduling/loop.h"

namespace pippin::scheduling {

using runtime::StopReason;

Scheduler::Scheduler(std::shared_ptr<runtime::Model> model, Tokenizer tokenizer,
                     const SchedulerOptions& options)
    : loop_(std::make_unique<Loop>(std::move(model), std::move(tokenizer), options)) {}

Scheduler::~Scheduler() = default;

std::shared_ptr<Job> Scheduler::submit(Request request, std::shared_ptr<Listener> listener) {
  return loop_->submit(std::move(request), std::move(listener));
}

int64_t Scheduler::max_prompt() const {
  return loop_->max_prompt();
}

int64_t Scheduler::max_running() const {
  return loop_->max_running();
}

SchedulerState Scheduler::state() const {
  return loop_->state();
}

namespace {

PromptCache::Options cache_options(const SchedulerOptions& options) {
  constexpr uint64_t kPartOfFree = 4;
  return {options.cache_ram < 0 ? free_memory() / kPartOfFree
                                : static_cast<uint64_t>(options.cache_ram),
          options.cache_disk, static_cast<uint64_t>(std::max<int64_t>(options.cache_disk_bytes, 0)),
          options.cache_key, options.cache_file};
}

// The number of tokens for the caches of all sequences together.
int64_t pool_tokens(runtime::Model& model, const SchedulerOptions& options) {
  // A single sequence is limited by its context.
  if (options.cache_tokens >= 0 || !model.capabilities().many_sequences) {
    return options.cache_tokens;
  }
  const uint64_t bytes = model.new_sequence()->row_layout().row_bytes();
  if (bytes == 0) return -1;
  const uint64_t quarter = free_memory() / 4 / bytes;
  constexpr int64_t kLeast = 2048;  // at least, even if less is free
  const int64_t whole =
      std::min(model.context(), std::max(static_cast<int64_t>(3 * quarter), kLeast));
  return std::max(static_cast<int64_t>(2 * quarter), whole);
}

bool is_in_background(const std::shared_ptr<Task>& task) {
  return task->in_background();
}

// The longest text whose prompt can be read in pieces.
int64_t row_limit(runtime::Model& model) {
  return model.capabilities().many_sequences ? model.new_sequence()->row_layout().limit : INT64_MAX;
}

}  // namespace

Scheduler::Loop::Loop(std::shared_ptr<runtime::Model> model, Tokenizer tokenizer,
                      const SchedulerOptions& options)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      max_running_(model_->capabilities().many_sequences ? std::max<int64_t>(options.max_running, 1)
                                                         : 1),
      max_waiting_(options.max_waiting),
      check_files_(options.check_files),
      seen_damage_(num_damaged_files()),
      step_seconds_(options.step_seconds),
      drafts_(options.drafts),
      cache_options_(cache_options(options)),
      pool_(pool_tokens(*model_, options)),
      row_limit_(row_limit(*model_)),
      piece_size_(options.step_seconds),
      batch_(model_) {
  const auto flights = static_cast<size_t>(runtime::most_in_flight(*model_));
  flights_.reserve(flights);
  while (flights_.size() < flights) flights_.push_back({runtime::Batch(model_)});
  context_.logger = CallContext::current().logger;
  counts_.cache.ram_limit = static_cast<int64_t>(cache_options_.ram_bytes);  // the thread makes it
  publish();
  thread_ = Thread([this] { run(); });
}

Scheduler::Loop::~Loop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (const auto& task : arrived_) task->cancel();
  wake_.notify_all();
}

std::shared_ptr<Job> Scheduler::Loop::submit(Request request, std::shared_ptr<Listener> listener) {
  runtime::check_fed_ids(*model_, request.prompt);
  check_rows(request);
  if (!request.adapters.empty()) runtime::check_adapters(*model_, request.adapters);
  if (request.options.overflow != runtime::Overflow::Stop) {
    fail(ErrorCode::Unsupported, "a scheduled text ends where its context does: no other overflow");
  }
  const int64_t size = std::ssize(request.prompt);
  if (size > model_->context()) {
    fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the model's context holds {}", size,
         model_->context());
  }
  if (!pool_.could_hold(size)) {
    fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the memory for caches holds {}", size,
         pool_.total() * kBlockTokens);
  }
  if (request.prompt_logprobs >= 0) {
    runtime::check_vocabulary(*model_, request.prompt);
    check_prompt_logprobs(size);
  }
  if (request.options.drafts == nullptr) request.options.drafts = drafts_;
  auto task = std::make_shared<Task>(*model_, tokenizer_, std::move(request), std::move(listener));
  const std::lock_guard lock(mutex_);
  const int64_t waiting = published_.waiting + std::ssize(arrived_);
  if (waiting >= max_waiting_) {
    fail(ErrorCode::LimitExceeded, "{} requests wait already, the most that may", waiting);
  }
  arrived_.push_back(task);
  wake_.notify_one();
  return task;
}

void Scheduler::Loop::check_rows(const Request& request) const {
  if (!model_->rows()) {
    if (request.rows.empty()) return;
    fail(ErrorCode::Unsupported, "{} pictures in the prompt: the model reads tokens only",
         request.rows.size());
  }
  runtime::RowRuns runs;
  for (const auto& rows : request.rows) runs.provide(*model_->rows(), rows);
  runs.check(request.prompt, 0, model_->rows()->sight);
  runs.begin(request.prompt, 0);
  const auto& found = runs.runs();
  const bool are_in_order =
      std::equal(found.begin(), found.end(), request.rows.begin(), request.rows.end(),
                 [](const auto& run, const auto& rows) { return run.digest == rows->digest; });
  if (!are_in_order) {
    fail(ErrorCode::InvalidArgument, "{} runs of rows in the prompt, {} given, or in another order",
         found.size(), request.rows.size());
  }
  if (request.prompt_logprobs >= 0 && !request.rows.empty()) {
    fail(ErrorCode::Unsupported, "logprobs of a prompt with pictures, whose rows are not tokens");
  }
}

int64_t Scheduler::Loop::max_prompt() const {
  const int64_t context = model_->context();
  return pool_.total() == 0 ? context : std::min(context, pool_.total() * kBlockTokens);
}

void Scheduler::Loop::check_prompt_logprobs(int64_t size) const {
  if (model_->capabilities().greedy_only) {
    fail(ErrorCode::Unsupported, "the model has no logits, and so no logprobs of the prompt");
  }
  // Such a prompt is read in one pass: see read_piece().
  constexpr int64_t kMostLogits = int64_t{1} << 28;
  if (size > row_limit_ && size > kMostLogits / model_->vocab_size()) {
    fail(ErrorCode::Unsupported,
         "logprobs of a prompt of {} tokens: beyond {} the model reads it at once, whose logits "
         "take "
         "too much memory",
         size, row_limit_);
  }
}

SchedulerState Scheduler::Loop::state() const {
  const std::lock_guard lock(mutex_);
  SchedulerState state = published_;
  state.waiting += std::ssize(arrived_);
  return state;
}

// Runs on the scheduler's thread: a folder of files needs the model's digest, which takes a while.
void Scheduler::Loop::open_cache() noexcept {
  try {
    cache_ = std::make_unique<PromptCache>(model_, cache_options_);
  } catch (const std::exception& fault) {
    log_warn("no prompt cache: {}", fault.what());
    cache_ = std::make_unique<PromptCache>(model_, PromptCache::Options{});
  }
}

void Scheduler::Loop::run() noexcept {
  const ContextScope scope(context_);
  open_cache();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] {
        return is_stopped_ || !arrived_.empty() || !waiting_.empty() || !running_.empty();
      });
      for (auto& task : arrived_) enqueue(std::move(task), /*at_front=*/false);
      published_.waiting += std::ssize(arrived_);  // submit() counts them, too
      arrived_.clear();
      if (is_stopped_) break;
    }
    try {
      step();
    } catch (...) {  // not a single request's fault: out of memory, or a bug
      drop_steps();
      for (const auto& task : running_) task->fail(std::current_exception());
      remove_ended();
    }
    publish();
  }
  drop_steps();
  for (const auto& task : running_) task->end(StopReason::Cancelled);
  for (const auto& task : waiting_) task->end(StopReason::Cancelled);
  remove_ended();
  cache_.reset();
}

void Scheduler::Loop::step() {
  has_moved_ = false;
  for (const auto& task : running_) {
    if (task->is_cancelled() && !task->in_flight) task->end(StopReason::Cancelled);
  }
  remove_ended();
  begin_waiting();
  constexpr uint64_t kTurns = 8;
  is_background_turn_ = counts_.steps % kTurns == 0 ||
                        std::all_of(running_.begin(), running_.end(), is_in_background);
  publish();  // requests that began are not waiting any more
  const double decode_seconds = decode();
  keep_decoded();
  read_piece(decode_seconds);
  remove_ended();
  if (!has_moved_ && !running_.empty()) make_room();
  ++counts_.steps;
}

// At the front or the end of the requests of its kind.
void Scheduler::Loop::enqueue(std::shared_ptr<Task> task, bool at_front) {
  const auto background = std::find_if(waiting_.begin(), waiting_.end(), is_in_background);
  const auto place = task->in_background() == at_front ? background
                     : at_front                        ? waiting_.begin()
                                                       : waiting_.end();
  waiting_.insert(place, std::move(task));
}

void Scheduler::Loop::begin_waiting() {
  std::erase_if(waiting_, [](const auto& task) {
    if (task->is_cancelled()) task->end(StopReason::Cancelled);
    return task->has_ended();
  });
  while (!waiting_.empty()) {
    const std::shared_ptr<Task> task = waiting_.front();
    const bool has_place = !is_tight_ && std::ssize(running_) < max_running_;
    if (!has_place || !begin(*task)) {
      if (task->in_background() || !preempt_background()) return;
      continue;
    }
    waiting_.pop_front();
    if (!task->has_ended()) running_.push_back(task);
  }
}

// Returns false if it must wait for room. A task that can never begin has ended.
bool Scheduler::Loop::begin(Task& task) {
  const int64_t size = std::ssize(task.to_feed());
  if (!pool_.could_hold(size)) {  // it was preempted and has grown since
    task.end(StopReason::ContextFull);
    return true;
  }
  if (!pool_.grow(task.held_blocks, size)) return false;
  try {
    if (task.num_generated() == 0) log_lookup(task.tokens(), task.adapters());
    // Tokens from the cache have no logits.
    task.begin(cache_->begin(task.wants_prompt() ? task.tokens().first(1) : task.tokens(),
                             task.adapters()));
    return true;
  } catch (const Error& error) {
    pool_.give_back(task.held_blocks);
    if (error.code() == ErrorCode::LimitExceeded && !running_.empty()) return false;
    task.fail(std::current_exception());
    return true;
  }
}

// Keeps one sequence per step, since many that began together would be due together.
void Scheduler::Loop::keep_decoded() {
  std::shared_ptr<Task> most;
  int64_t tokens = kBlockTokens - 1;
  for (const auto& task : running_) {
    if (task->has_ended() || task->in_flight || !task->is_decoding()) continue;
    if (task->sequence().position() - task->kept <= tokens) continue;
    tokens = task->sequence().position() - task->kept;
    most = task;
  }
  if (most != nullptr) most->kept = cache_->keep(most->sequence(), most->kept);
}

// Returns the sequence with its computed data. A failed one may have wrong data.
void Scheduler::Loop::return_sequence(Task& task) {
  PromptCache::Lent lent = task.give_up();
  if (!task.has_failed()) cache_->end(std::move(lent), task.kept);
}

// Called after a run, before its results are reported or kept.
void Scheduler::Loop::check_files() {
  if (broken_) std::rethrow_exception(broken_);
  const uint64_t damage = num_damaged_files();
  if (damage == seen_damage_ || check_files_ == nullptr) return;
  seen_damage_ = damage;
  try {
    check_files_();
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
}

void Scheduler::Loop::log_lookup(std::span<const int32_t> tokens, std::span<const float> adapters) {
  ++num_begun_;
  if (log_level() > LogLevel::Debug) return;
  const PromptCache::Known known = cache_->look_up(tokens, adapters);
  const auto text = [&](int32_t id) {
    return id >= 0 && id < model_->vocab_size() ? tokenizer_.decode(std::vector<int32_t>{id})
                                                : std::string();
  };
  std::string difference;
  if (known.next >= 0) {
    difference = fmt::format("; first difference at token {}: '{}' instead of '{}'", known.same,
                             text(tokens[static_cast<size_t>(known.same)]), text(known.next));
  }
  log_debug("request {}: {} of {} prompt tokens cached{}", num_begun_, known.tokens, tokens.size(),
            difference);
}

// Frees the memory of a running request, which is computed again later.
void Scheduler::Loop::preempt(std::shared_ptr<Task> task) {
  std::erase(running_, task);
  cache_->keep(task->sequence(), task->kept, /*is_end_of_turn=*/true);
  task->give_up();
  pool_.give_back(task->held_blocks);
  enqueue(std::move(task), /*at_front=*/true);
  ++counts_.preempted;
}

// Preempts the last request in the background. Returns false if none runs. One that ends meanwhile
// makes room as well.
bool Scheduler::Loop::preempt_background() {
  if (std::none_of(running_.begin(), running_.end(), is_in_background)) return false;
  finish_steps();
  remove_ended();
  const auto last = std::find_if(running_.rbegin(), running_.rend(), is_in_background);
  if (last != running_.rend()) preempt(*last);
  is_tight_ = false;
  return true;
}

// All running requests wait for memory.
void Scheduler::Loop::make_room() {
  if (running_.size() == 1) {
    running_.back()->end(StopReason::ContextFull);
    return remove_ended();
  }
  if (!preempt_background()) preempt(running_.back());
  is_tight_ = true;
}

void Scheduler::Loop::remove_ended() {
  const auto ended = std::erase_if(running_, [&](const auto& task) {
    if (!task->has_ended()) return false;
    pool_.give_back(task->held_blocks);
    return_sequence(*task);
    return true;
  });
  if (ended > 0 || running_.empty()) is_tight_ = false;
}

void Scheduler::Loop::publish() {
  counts_.waiting = std::ssize(waiting_);
  counts_.decoding = std::count_if(running_.begin(), running_.end(),
                                   [](const auto& t) { return t->is_decoding(); });
  counts_.reading = std::ssize(running_) - counts_.decoding;
  counts_.blocks_used = pool_.used();
  counts_.blocks = pool_.total();
  counts_.prompt_tokens_per_second = piece_size_.tokens_per_second();
  if (cache_ != nullptr) counts_.cache = cache_->state();
  const std::lock_guard lock(mutex_);
  published_ = counts_;
}

}  // namespace pippin::scheduling
