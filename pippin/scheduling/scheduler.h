// Serves requests of many callers with one language model: a thread owns their sequences and
// advances all of them step by step.
//
//   Scheduler scheduler(model, tokenizer, {});
//   const auto job = scheduler.submit({.prompt = ids, .options = options}, listener);
//   job->cancel();
//
// A step computes the next token of every decoding sequence, in one pass over the weights if the
// model supports that, or several tokens of a single sequence. Then it reads a piece of one prompt
// in the rest of step_seconds. Prompts take turns. Each request has its own sampler and random
// numbers, so it gets the same tokens whatever other requests run.
//
// If the device is a pipeline of machines, a step has a part of the decoding sequences, and others
// are started before its tokens are chosen, so that all machines compute
// (runtime/steps_in_flight.h).
//
// Requests in the background wait until no other request does, and give their place and memory back
// when another one needs them. While others run, they advance in one of eight steps.
//
// The memory for caches is one pool for all (block_pool.h). Requests begin in the order of arrival,
// when their prompt fits. A sequence without room for its next token waits for others to end. If
// all of them wait, the most recent one gives its memory back and is computed again later; a single
// one ends with StopReason::ContextFull.
//
// Models that allow one sequence only (Capabilities::many_sequences) serve one request at a time.
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

#include "pippin/runtime/embedded_rows.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/text.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::scheduling {

struct Request {
  std::vector<int32_t> prompt;
  runtime::TextOptions options;  // Overflow must be Stop
  // The number of likely tokens to report for each prompt token; negative: none. Such a prompt is
  // computed again even if it is in the prompt cache.
  int64_t prompt_logprobs = -1;
  // The rows of embeddings whose ids `prompt` has (runtime/row_ids.h), in order.
  std::vector<std::shared_ptr<const runtime::EmbeddedRows>> rows = {};
  bool in_background = false;
  // Factors of the changes by the model's adapters (Sequence::set_adapters()); empty: those of new
  // sequences.
  std::vector<float> adapters = {};
};

// The log probabilities at a token of the prompt, and alternatives to it.
struct PromptLogprobs : runtime::Logprobs {
  int64_t rank = 0;  // 1: the most likely one
};

struct Token {
  int32_t id = 0;
  std::string_view piece;                       // valid UTF-8, often empty: see TextStream
  const runtime::Logprobs* logprobs = nullptr;  // null: not wanted
};

// The result of a request.
struct Outcome {
  runtime::StopReason reason = runtime::StopReason::MaxTokens;
  std::string stop_string;   // for StopReason::StopString
  std::exception_ptr error;  // null unless it failed; `reason` is then undefined
  int64_t prompt_tokens = 0, generated_tokens = 0;
  int64_t cached_tokens = 0;       // prompt tokens found in the prompt cache
  int64_t drafted_tokens = 0;      // drafts that were fed
  int64_t accepted_tokens = 0;     // drafts that were correct
  double queue_seconds = 0;        // until its prompt began
  double prompt_seconds = 0;       // from then to its end
  double first_token_seconds = 0;  // from submit() to the first token
  double total_seconds = 0;
};

// Receives the events of a request on the scheduler's thread: calls should return quickly. An
// exception from it ends the request.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_prompt(int64_t /*done*/, int64_t /*total*/) {}
  // If wanted: the next tokens of the prompt, beginning with the second one.
  virtual void on_prompt_logprobs(std::span<const PromptLogprobs> /*logprobs*/) {}
  // Returning false ends the text: StopReason::Callback.
  virtual bool on_token(const Token& token) = 0;
  // The last call. `rest` is text that was held back.
  virtual void on_end(const Outcome& outcome, std::string_view rest) = 0;
};

// A submitted request.
class Job {
 public:
  virtual ~Job() = default;
  // Ends it with StopReason::Cancelled, when its current step ends. May be called by any thread at
  // any time.
  virtual void cancel() noexcept = 0;
};

struct SchedulerOptions {
  int64_t max_running = 16;   // sequences with their own cache; other requests wait
  int64_t max_waiting = 512;  // submit() rejects requests above it
  // The memory for caches of running requests, in tokens. Negative: what fits half of the memory
  // that is free at construction, or a whole context if that fits three quarters of it; no limit
  // for a model whose memory per token is unknown.
  int64_t cache_tokens = -1;
  double step_seconds = 0.1;

  // Drafts are verified together while one sequence decodes; several sequences share passes instead
  // (docs/decisions/0019-drafts-change-no-text.md). Null: no drafts.
  std::shared_ptr<runtime::Drafts> drafts;

  // The prompt cache (prompt_cache.h): bytes of memory; 0: off, on disk as well; negative: a
  // quarter of the memory that is free at construction.
  int64_t cache_ram = -1;
  // A folder for data that leaves memory, and for all of it at the end; empty: none. The first
  // request waits for the model's digest, about a second per gigabyte.
  std::filesystem::path cache_disk;
  int64_t cache_disk_bytes = int64_t{16} << 30;
  // A file with one sequence, which is loaded at construction if it exists, and replaced by the
  // last ended sequence at the end (runtime/prompt_file.h); empty: none.
  std::filesystem::path cache_file;
  // Other settings that determine the numbers in files on disk, in addition to the model's own
  // files (Model::digest()), such as the precision.
  std::string cache_key;

  // Called on the scheduler's thread after a step during which a mapped file was damaged
  // (base/files/mapped_guard.h). If it throws, all requests end with its error, later ones too: the
  // step may have computed with zeros. Null: damaged files are not detected.
  std::function<void()> check_files;
};

// The contents of a prompt cache, and counters since the scheduler was created.
struct CacheState {
  int64_t entries = 0;  // ranges of tokens, in memory or on disk
  int64_t ram_bytes = 0, ram_limit = 0;
  int64_t disk_bytes = 0, disk_limit = 0;
  uint64_t hits = 0, misses = 0;  // requests with a part of the prompt in the cache, or none
  uint64_t looked_up_tokens = 0, reused_tokens = 0;
  uint64_t evicted = 0;                           // entries that left memory
  uint64_t written = 0, read = 0, discarded = 0;  // files
};

struct SchedulerState {
  int64_t waiting = 0, reading = 0, decoding = 0;
  int64_t blocks_used = 0, blocks = 0;  // of the pool; 0 blocks: no limit
  uint64_t steps = 0, prompt_tokens = 0, generated_tokens = 0, preempted = 0;
  uint64_t drafted_tokens = 0, accepted_tokens = 0;
  double prompt_tokens_per_second = 0;  // running estimate
  CacheState cache;
};

class Scheduler {
 public:
  Scheduler(std::shared_ptr<runtime::Model> model, Tokenizer tokenizer,
            const SchedulerOptions& options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();  // cancels all requests and waits for their end

  // May be called by any thread. Throws, without a call of the listener: LimitExceeded, with both
  // numbers, for a prompt that exceeds the model's context or the pool, and if max_waiting requests
  // are waiting; InvalidArgument for no prompt, ids outside the vocabulary, rows that do not fit
  // and options out of range; Unsupported for sampling or prompt logprobs if the model has no
  // logits, for rows if it reads tokens only, for prompt logprobs of rows, and for an Overflow
  // other than Stop.
  std::shared_ptr<Job> submit(Request request, std::shared_ptr<Listener> listener);

  // The most tokens of a prompt: the model's context, or the pool.
  int64_t max_prompt() const;
  int64_t max_running() const;

  // The state after the last step.
  SchedulerState state() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pippin::scheduling
