// The loop: prompt, then one token after the other until there is a reason to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/runtime/sampling/logprobs.h"
#include "pippin/runtime/sampling/options.h"
#include "pippin/runtime/sampling/processor.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/statistics.h"

namespace pippin::runtime {

enum class StopReason {
  EndOfText,    // the model gave one of the end tokens
  MaxTokens,    // as many as were asked for
  ContextFull,  // the sequence fills the model's context
  StopString,   // the text came to a string that the caller stops at (stop_strings.h)
  Callback,     // the caller wants no more
  Cancelled,    // base/cancel.h
};
PIPPIN_API std::string_view to_string(StopReason reason);

// What happens when a sequence fills the model's context.
enum class Overflow {
  Stop,   // the text ends: StopReason::ContextFull
  Shift,  // the oldest tokens are forgotten: by the model itself where it slides, else it starts
          // anew with the last kept_by_shift() ones
  Error,  // LimitExceeded
};

struct GenerateOptions {
  int64_t max_tokens = -1;  // negative: until another reason
  SamplingOptions sampling;
  std::vector<int32_t> end_ids;
  Overflow overflow = Overflow::Stop;
  // The first links of the chain that chooses tokens: each answer has copies of its own.
  std::vector<std::shared_ptr<const LogitsProcessor>> processors;
  // How many of the likeliest tokens to tell of beside each chosen one; negative: of none.
  int64_t logprobs = -1;
};

struct GenerateResult {
  std::vector<int32_t> ids;  // without the end token
  // For each of these, where they were asked for: as the model has them, before any processor.
  std::vector<Logprobs> logprobs;
  StopReason reason = StopReason::MaxTokens;
  int64_t shifts = 0;  // how often the oldest tokens were forgotten; -1: the model slides
  Timings timings;
};

// Feeds `prompt` to the sequence after what it was fed before and calls `on_token` with each new
// token as soon as it is known (not with an end token); it returns false to stop:
// StopReason::Callback, where a StopString is told by the caller, who knows the text. Every token
// that the context has room to predict can come: the last one is not fed. Cancellation is a stop
// reason, whatever was generated is kept. Throws LimitExceeded where the prompt does not fit (one
// that is longer than the context fits a model that slides), Unsupported for sampling with a model
// that only knows its likeliest token.
PIPPIN_API GenerateResult generate(Sequence& sequence, std::span<const int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(int32_t id)>& on_token);

}  // namespace pippin::runtime
