// Requests of many callers to one language model: a thread that owns their sequences and gives each
// its turn, step by step.
//
//   Scheduler scheduler(model, tokenizer, {});
//   const auto job = scheduler.submit({.prompt = ids, .options = options}, listener);
//   job->cancel();
//
// A step is the next token of every sequence that decodes, in one pass over the weights where the
// model can do that, or several tokens of the only one, and then a piece of one prompt, as long as
// it takes to fill the rest of step_seconds. Prompts take turns. A request's sampler and random
// numbers are its own, so that it gets the same tokens whoever else is there.
//
// Memory for caches is one pool for all (block_pool.h). A request begins when its prompt fits, in
// the order of arrival; one that finds no room for its next token waits for others to end. Where
// all of them wait, the one that came last gives its memory back and is read anew later; one that
// is alone ends with StopReason::ContextFull.
//
// Models that hold one sequence only (Capabilities::many_sequences) serve one request at a time.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/runtime/model.h"
#include "pippin/runtime/text.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::serve {

struct Request {
  std::vector<int32_t> prompt;
  runtime::TextOptions options;  // of Overflow only Stop
  // The number of likely tokens to report with each of the prompt's; negative: nothing of these.
  // Such a prompt is computed anew, whatever the prompt cache has.
  int64_t prompt_logprobs = -1;
};

// Of a token of the prompt, in place of which others could have stood.
struct PromptLogprobs : runtime::Logprobs {
  int64_t rank = 0;  // 1: the most likely one
};

struct Token {
  int32_t id = 0;
  std::string_view piece;                       // valid UTF-8, often empty: see TextStream
  const runtime::Logprobs* logprobs = nullptr;  // null: not asked for
};

// How a request ended.
struct Outcome {
  runtime::StopReason reason = runtime::StopReason::MaxTokens;
  std::string stop_string;   // for StopReason::StopString: which one
  std::exception_ptr error;  // null unless it failed; `reason` says nothing then
  int64_t prompt_tokens = 0, generated_tokens = 0;
  int64_t cached_tokens = 0;       // of the prompt, those that the prompt cache had
  int64_t drafted_tokens = 0;      // that were fed because they might come
  int64_t accepted_tokens = 0;     // those of them that came
  double queue_seconds = 0;        // until its prompt was begun
  double prompt_seconds = 0;       // from then to its end
  double first_token_seconds = 0;  // from submit() to the first token
  double total_seconds = 0;
};

// Told what becomes of a request, by the scheduler's thread: calls should return at once. What they
// throw ends the request.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_prompt(int64_t /*done*/, int64_t /*total*/) {}
  // Where they were asked for: of the next tokens of the prompt, which begin with the second one.
  virtual void on_prompt_logprobs(std::span<const PromptLogprobs> /*logprobs*/) {}
  // False ends the text: StopReason::Callback.
  virtual bool on_token(const Token& token) = 0;
  // The last call. `rest` is text that was held back.
  virtual void on_end(const Outcome& outcome, std::string_view rest) = 0;
};

// A request on its way.
class Job {
 public:
  virtual ~Job() = default;
  // Ends it with StopReason::Cancelled, within the step that runs. From any thread, at any time.
  virtual void cancel() noexcept = 0;
};

struct SchedulerOptions {
  int64_t max_running = 16;   // sequences with a cache of their own; others wait
  int64_t max_waiting = 512;  // beyond it submit() refuses
  // Of the caches of those that run together. Negative: what half of the memory holds that is free
  // when the scheduler is made, or a whole context where three quarters of it hold that; no limit
  // for a model that does not say what a token takes.
  int64_t cache_tokens = -1;
  double step_seconds = 0.1;

  // Tokens that probably come are fed together while one sequence decodes; where several do, they
  // share passes instead (docs/decisions/0019-drafts-change-no-text.md). Null: none.
  std::shared_ptr<runtime::Drafts> drafts;

  // The prompt cache (prompt_cache.h): bytes of memory; 0: none, on disk neither; negative: a
  // quarter of what is free when the scheduler is made.
  int64_t cache_ram = -1;
  // A folder for what leaves memory, and for all of it at the end; empty: none. The first request
  // waits for the model's digest, about a second for a gigabyte.
  std::filesystem::path cache_disk;
  int64_t cache_disk_bytes = int64_t{16} << 30;
  // A file with one sequence, which is there at the begin if it exists, and is the one that ended
  // last at the end (runtime/prompt_file.h); empty: none.
  std::filesystem::path cache_file;
  // What else decides the numbers that files on disk hold, besides the model's own files
  // (Model::digest()): precision, say.
  std::string cache_key;

  // Called by the scheduler's thread after a step during which a mapped file was damaged
  // (base/mapped_guard.h). If it throws, all requests end with its error, later ones too: the step
  // may have computed with zeros. Null: damaged files are not looked for.
  std::function<void()> check_files;
};

// What a prompt cache has, and what became of it since the scheduler was made.
struct CacheState {
  int64_t entries = 0;  // stretches of tokens, in memory or on disk
  int64_t ram_bytes = 0, ram_limit = 0;
  int64_t disk_bytes = 0, disk_limit = 0;
  uint64_t hits = 0, misses = 0;  // requests of which some of the prompt was there, or nothing
  uint64_t looked_up_tokens = 0, reused_tokens = 0;
  uint64_t evicted = 0;                           // entries that left memory
  uint64_t written = 0, read = 0, discarded = 0;  // files
};

struct SchedulerState {
  int64_t waiting = 0, reading = 0, decoding = 0;
  int64_t blocks_used = 0, blocks = 0;  // of the pool; 0 blocks: no limit
  uint64_t steps = 0, prompt_tokens = 0, generated_tokens = 0, preempted = 0;
  uint64_t drafted_tokens = 0, accepted_tokens = 0;
  double prompt_tokens_per_second = 0;  // the running estimate
  CacheState cache;
};

class Scheduler {
 public:
  Scheduler(std::shared_ptr<runtime::Model> model, Tokenizer tokenizer,
            const SchedulerOptions& options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();  // cancels what is there, and waits for it to end

  // From any thread. Throws, without a call of the listener: LimitExceeded for a prompt that the
  // model's context or the pool cannot hold, with both numbers, or if max_waiting requests wait;
  // InvalidArgument for no prompt, for ids that are not in the vocabulary and for options that are
  // out of range; Unsupported for sampling from a model without logits or logprobs of its prompt,
  // and for another Overflow than Stop.
  std::shared_ptr<Job> submit(Request request, std::shared_ptr<Listener> listener);

  // The most tokens that a prompt may have: those of the model's context, or of the pool.
  int64_t max_prompt() const;
  int64_t max_running() const;

  // As it was after the last step.
  SchedulerState state() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pippin::serve
