// For tests only: requests to a scheduler, and their results.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "pippin/base/testing.h"
#include "pippin/scheduling/scheduler.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::scheduling {

using Ids = std::vector<int32_t>;

constexpr int64_t kPlenty = int64_t{1} << 30;  // bytes

// A tokenizer that fits RowModel: the demo's has more tokens.
inline Tokenizer tokenizer() {
  static const Tokenizer result = Tokenizer::open(source_dir() / "pippin/demo/model");
  return result;
}

// Records the results of a request.
class Recorder final : public Listener {
 public:
  std::function<bool(const Token&)> look;  // called with every token

  void on_prompt(int64_t done, int64_t /*total*/) override {
    const std::lock_guard lock(mutex_);
    prompt_pieces.push_back(done);
  }
  void on_prompt_logprobs(std::span<const PromptLogprobs> logprobs_of_piece) override {
    const std::lock_guard lock(mutex_);
    prompt_logprobs.insert(prompt_logprobs.end(), logprobs_of_piece.begin(),
                           logprobs_of_piece.end());
  }
  bool on_token(const Token& token) override {
    {
      const std::lock_guard lock(mutex_);
      ids.push_back(token.id);
      text += token.piece;
      if (token.logprobs != nullptr) logprobs.push_back(token.logprobs->chosen.logprob);
    }
    changed_.notify_all();
    return !look || look(token);
  }
  void on_end(const Outcome& outcome, std::string_view rest) override {
    {
      const std::lock_guard lock(mutex_);
      text += rest;
      outcome_ = outcome;
    }
    changed_.notify_all();
  }
  const Outcome& wait() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(5), [&] { return outcome_.has_value(); })) {
      throw std::runtime_error("the request did not end");
    }
    return *outcome_;
  }
  void wait_for_tokens(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ids.size() >= count || outcome_.has_value(); });
  }
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return outcome_.has_value();
  }
  // The message of the request's error.
  std::string error() {
    try {
      if (const auto& error = wait().error) std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
    return "";
  }

  std::vector<int32_t> ids;
  std::vector<int64_t> prompt_pieces;
  std::vector<double> logprobs;
  std::vector<PromptLogprobs> prompt_logprobs;
  std::string text;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Outcome> outcome_;
};

struct Asked {
  std::shared_ptr<Recorder> heard = std::make_shared<Recorder>();
  std::shared_ptr<Job> job;
};

inline Asked ask(Scheduler& scheduler, Request request) {
  Asked result;
  result.job = scheduler.submit(std::move(request), result.heard);
  return result;
}

// The state after the step in which the last request ended.
inline SchedulerState wait_until_idle(const Scheduler& scheduler) {
  for (;;) {
    const SchedulerState state = scheduler.state();
    if (state.waiting + state.reading + state.decoding + state.blocks_used == 0) return state;
    std::this_thread::yield();
  }
}

}  // namespace pippin::scheduling
