// The generation loop: feeds the prompt, then generates tokens until there is a reason to stop.
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

class Drafts;

// Reasons for the end of a text.
enum class StopReason {
  EndOfText,    // the model chose an end token, or a constraint allows nothing else
  MaxTokens,    // the limit was reached
  ContextFull,  // the sequence fills the model's context
  StopString,   // the text reached one of the caller's stop strings (stop_strings.h)
  Callback,     // the caller returned false
  Cancelled,    // base/threads/cancel.h
};
// Returns "end of text", "token limit", "context full", "stop string", "stopped by the caller" or
// "cancelled".
PIPPIN_API std::string_view to_string(StopReason reason);

// The action when a sequence fills the model's context.
enum class Overflow {
  Stop,   // the text ends: StopReason::ContextFull
  Shift,  // the oldest tokens are dropped: by the model itself if it slides, otherwise by
          // restarting with the last tokens_after_shift() tokens
  Error,  // LimitExceeded
};

// A chosen token, including end tokens.
struct ChosenToken {
  int32_t id = 0;                 // the token
  std::span<const float> logits;  // the model's own, used for the choice; valid during the call
  bool is_end = false;            // whether it is one of GenerateOptions::end_ids
  bool was_drafted = false;       // drafted and verified together with others
};

// Options of generate().
struct GenerateOptions {
  int64_t max_tokens = -1;             // the most tokens to generate; negative: no limit
  SamplingOptions sampling;            // the choice of tokens
  std::vector<int32_t> end_ids;        // tokens that end the text
  Overflow overflow = Overflow::Stop;  // the action at the end of the context
  // Applied to the logits before the rest of the sampling chain; each generation has its own
  // copies.
  std::vector<std::shared_ptr<const LogitsProcessor>> processors;
  // The number of most likely tokens to report with each chosen one; negative: none.
  int64_t logprobs = -1;
  // Drafts that are verified together, in less time than one by one (draft/drafts.h). The text is
  // the same. Null: no drafts.
  std::shared_ptr<Drafts> drafts;
  // The most drafts per pass; 0: none; negative: as many as `drafts` allows.
  int64_t max_drafts = -1;
  std::vector<int32_t> predicted;  // the caller's prediction of the answer, or a similar text
  // Called with each chosen token, before on_token. Its exceptions end the text as those of
  // on_token do. May be empty.
  std::function<void(const ChosenToken& token)> on_chosen;
};

// The result of generate().
struct GenerateResult {
  std::vector<int32_t> ids;  // the generated tokens, without the end token
  // One per id, if wanted: from the model's own logits, before any processor.
  std::vector<Logprobs> logprobs;
  StopReason reason = StopReason::MaxTokens;  // the reason for the end of the text
  int64_t drafted = 0, accepted = 0;          // drafts that were fed, and those that were correct
  int64_t shifts = 0;  // number of times the oldest tokens were dropped; -1: the model slides
  Timings timings;     // of this generation
};

// Appends `prompt` to the sequence and calls `on_token` with each new token as soon as it is known,
// except end tokens. `on_token` returns false to stop, with StopReason::Callback; callers that know
// the text report StopString themselves. The last token is not fed, so the whole context can be
// used. Cancellation is a stop reason and keeps the generated tokens. Throws LimitExceeded if the
// prompt does not fit (any prompt fits a model that slides), and Unsupported for sampling from a
// model without logits. Exceptions of processors and callbacks pass through; the sequence then
// holds the prompt and the tokens chosen before.
PIPPIN_API GenerateResult generate(Sequence& sequence, std::span<const int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(int32_t id)>& on_token);

}  // namespace pippin::runtime
