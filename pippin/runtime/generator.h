// The generation loop: the prompt, then token after token until there is a reason to stop.
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

enum class StopReason {
  EndOfText,    // the model generated one of the end tokens, or a constraint has nothing else
  MaxTokens,    // the limit that was asked for
  ContextFull,  // the sequence fills the model's context
  StopString,   // the text reached one of the caller's stop strings (stop_strings.h)
  Callback,     // the caller returned false
  Cancelled,    // base/cancel.h
};
PIPPIN_API std::string_view to_string(StopReason reason);

// What happens when a sequence fills the model's context.
enum class Overflow {
  Stop,   // the text ends: StopReason::ContextFull
  Shift,  // the oldest tokens are dropped: by the model itself if it slides, otherwise by starting
          // over with the last kept_on_shift() tokens
  Error,  // LimitExceeded
};

// A token that was chosen; an end token, too.
struct ChosenToken {
  int32_t id = 0;
  std::span<const float> logits;  // the model's own by which it was chosen; valid during the call
  bool is_end = false;
  bool was_drafted = false;  // guessed before, and fed together with others
};

struct GenerateOptions {
  int64_t max_tokens = -1;  // negative: no limit
  SamplingOptions sampling;
  std::vector<int32_t> end_ids;
  Overflow overflow = Overflow::Stop;
  // They see the logits before the rest of the sampling chain; each generation gets its own copies.
  std::vector<std::shared_ptr<const LogitsProcessor>> processors;
  // How many of the most likely tokens to report with each chosen one; negative: none.
  int64_t logprobs = -1;
  // Tokens that probably come are verified together, in less time than one by one (draft/drafts.h);
  // the text is the same. Null: no drafts.
  std::shared_ptr<Drafts> drafts;
  int64_t max_drafts = -1;         // of a pass; 0: none; negative: as many as `drafts` say
  std::vector<int32_t> predicted;  // what the caller expects, or something like it
  // Called with each token as it is chosen, before on_token is. What it throws ends the text as
  // what on_token throws does. Null: nobody looks on.
  std::function<void(const ChosenToken& token)> on_chosen;
};

struct GenerateResult {
  std::vector<int32_t> ids;  // without the end token
  // One per id, if asked for: of the model's own logits, before any processor.
  std::vector<Logprobs> logprobs;
  StopReason reason = StopReason::MaxTokens;
  int64_t drafted = 0, accepted = 0;  // tokens of drafts that were fed, and those that were right
  int64_t shifts = 0;  // how often the oldest tokens were dropped; -1: the model slides
  Timings timings;
};

// Appends `prompt` to the sequence and calls `on_token` with each new token as soon as it is known,
// but not with an end token. `on_token` returns false to stop, with StopReason::Callback; callers
// that know the text report StopString themselves. The last token is not fed, so the context can be
// used up to its end. Cancellation is a stop reason; what was generated is kept. Throws
// LimitExceeded if the prompt does not fit (any prompt fits a model that slides), Unsupported for
// sampling from a model without logits. What processors and callbacks throw comes out; the sequence
// then has the prompt and what was chosen before.
PIPPIN_API GenerateResult generate(Sequence& sequence, std::span<const int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<bool(int32_t id)>& on_token);

}  // namespace pippin::runtime
