#include "pippin/runtime/generator.h"

#include <algorithm>
#include <chrono>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/runtime/generation.h"

namespace pippin::runtime {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::EndOfText:
      return "end of text";
    case StopReason::MaxTokens:
      return "token limit";
    case StopReason::ContextFull:
      return "context full";
    case StopReason::StopString:
      return "stop string";
    case StopReason::Callback:
      return "stopped by the caller";
    case StopReason::Cancelled:
      return "cancelled";
  }
  return "unknown";
}

GenerateResult generate(Sequence& sequence, std::span<const int32_t> prompt,
                        const GenerateOptions& options,
                        const std::function<bool(int32_t id)>& on_token) {
  const Model& model = sequence.model();
  Generation generation(model, options);
  const auto prompt_size = static_cast<int64_t>(prompt.size());
  const bool slides = options.overflow == Overflow::Shift && model.capabilities().slides;
  if (!slides && prompt_size > model.context() - sequence.position()) {
    fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the model's context holds {}",
         sequence.position() + prompt_size, model.context());
  }
  generation.observe(sequence.tokens());
  generation.observe(prompt);

  GenerateResult result;
  Timings& timings = result.timings;
  timings.prompt_tokens = prompt_size;
  const auto start = Clock::now();
  std::span<const float> logits;
  try {
    logits = sequence.prefill(prompt);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Cancelled) throw;
    result.reason = StopReason::Cancelled;
    return result;
  }
  timings.prompt_seconds = seconds_since(start);

  const auto finish = [&](StopReason reason, Clock::time_point first_token) {
    result.reason = reason;
    result.ids = generation.take_ids();
    result.logprobs = generation.take_logprobs();
    timings.generate_seconds = seconds_since(first_token);
    return result;
  };
  // Room for one more token; false: the text ends.
  const auto make_room = [&] {
    if (sequence.position() < model.context()) return true;
    if (options.overflow == Overflow::Stop) return false;
    if (options.overflow == Overflow::Error) {
      fail(ErrorCode::LimitExceeded, "prompt and text fill the model's context of {} tokens",
           model.context());
    }
    if (slides) {
      result.shifts = -1;
      return true;
    }
    // The last token is fed after this.
    std::vector<int32_t> kept(prompt.begin(), prompt.end());
    kept.insert(kept.end(), generation.ids().begin(), generation.ids().end() - 1);
    const auto count = std::clamp<int64_t>(
        model.kept_on_shift() - 1, 0, std::min<int64_t>(std::ssize(kept), model.context() - 1));
    sequence.reset();
    if (count > 0) sequence.prefill(std::span(kept).last(static_cast<size_t>(count)));
    ++result.shifts;
    return true;
  };
  if (generation.is_complete()) return finish(StopReason::MaxTokens, Clock::now());
  bool is_token = generation.choose(sequence, logits);
  timings.first_token_seconds = seconds_since(start);
  const auto first_token = Clock::now();
  for (;;) {
    if (!is_token) return finish(StopReason::EndOfText, first_token);
    const int32_t id = generation.ids().back();
    if (!on_token(id)) return finish(StopReason::Callback, first_token);
    if (generation.must_end()) return finish(StopReason::EndOfText, first_token);
    if (generation.is_complete()) return finish(StopReason::MaxTokens, first_token);
    if (cancel_requested()) return finish(StopReason::Cancelled, first_token);
    const auto token_start = Clock::now();
    try {
      if (!make_room()) return finish(StopReason::ContextFull, first_token);
      logits = sequence.decode(id);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Cancelled) throw;
      return finish(StopReason::Cancelled, first_token);
    }
    is_token = generation.choose(sequence, logits);
    timings.token_seconds.push_back(seconds_since(token_start));
  }
}

}  // namespace pippin::runtime
