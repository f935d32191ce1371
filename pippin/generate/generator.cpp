#include "pippin/generate/generator.h"

#include <algorithm>
#include <chrono>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"

namespace pippin::generate {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::EndOfText:
      return "end of text";
    case StopReason::MaxTokens:
      return "token limit";
    case StopReason::ContextFull:
      return "context full";
    case StopReason::Callback:
      return "stopped by the caller";
    case StopReason::Cancelled:
      return "cancelled";
  }
  return "unknown";
}

GenerateResult generate(LanguageModel& model, std::span<const int32_t> prompt,
                        const GenerateOptions& options,
                        const std::function<bool(int32_t id)>& on_token) {
  const auto prompt_size = static_cast<int64_t>(prompt.size());
  if (prompt_size > model.context() - model.position()) {
    fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the model's context holds {}",
         model.position() + prompt_size, model.context());
  }
  Sampler sampler(options.sampling);
  sampler.observe(prompt);

  GenerateResult result;
  Timings& timings = result.timings;
  timings.prompt_tokens = prompt_size;
  const auto start = Clock::now();
  std::span<const float> logits;
  try {
    logits = model.prefill(prompt);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
    result.reason = StopReason::Cancelled;
    return result;
  }
  timings.prompt_seconds = seconds_since(start);

  const auto finish = [&](StopReason reason, Clock::time_point first_token) {
    result.reason = reason;
    timings.generate_seconds = seconds_since(first_token);
    return result;
  };
  if (options.max_tokens == 0) return finish(StopReason::MaxTokens, Clock::now());
  int32_t id = sampler.sample(logits);
  timings.first_token_seconds = seconds_since(start);
  const auto first_token = Clock::now();
  for (;;) {
    if (std::find(options.end_ids.begin(), options.end_ids.end(), id) != options.end_ids.end()) {
      return finish(StopReason::EndOfText, first_token);
    }
    result.ids.push_back(id);
    if (!on_token(id)) return finish(StopReason::Callback, first_token);
    if (static_cast<int64_t>(result.ids.size()) == options.max_tokens) {
      return finish(StopReason::MaxTokens, first_token);
    }
    if (model.position() == model.context()) return finish(StopReason::ContextFull, first_token);
    if (cancel_requested()) return finish(StopReason::Cancelled, first_token);
    const auto token_start = Clock::now();
    id = sampler.sample(model.decode(id));
    timings.token_seconds.push_back(seconds_since(token_start));
  }
}

}  // namespace pippin::generate
