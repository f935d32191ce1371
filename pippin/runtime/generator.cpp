#include "pippin/runtime/generator.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/draft/drafting.h"
#include "pippin/runtime/draft/drafts.h"
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
  const bool is_sliding =
      options.overflow == Overflow::Shift && model.capabilities().sliding_window;
  if (!is_sliding && prompt_size > model.context() - sequence.position()) {
    fail(ErrorCode::LimitExceeded, "the prompt has {} tokens, the model's context holds {}",
         sequence.position() + prompt_size, model.context());
  }
  generation.observe(sequence.tokens());
  generation.observe(prompt);

  GenerateResult result;
  Timings& timings = result.timings;
  timings.prompt_tokens = prompt_size;
  const auto start = Clock::now();
  const auto feed = [&](std::span<const int32_t> ids) {
    return sequence.prefill_choice(ids, generation.last_row());
  };
  std::span<const float> logits;
  try {
    logits = feed(prompt);
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
  // Makes room for one more token; false: the text ends.
  const auto make_room = [&] {
    if (sequence.position() < model.context()) return true;
    if (options.overflow == Overflow::Stop) return false;
    if (options.overflow == Overflow::Error) {
      fail(ErrorCode::LimitExceeded, "prompt and text fill the model's context of {} tokens",
           model.context());
    }
    if (is_sliding) {
      result.shifts = -1;
      return true;
    }
    // The last token is fed after this.
    std::vector<int32_t> kept(prompt.begin(), prompt.end());
    kept.insert(kept.end(), generation.ids().begin(), generation.ids().end() - 1);
    const auto count =
        std::clamp<int64_t>(model.tokens_after_shift() - 1, 0,
                            std::min<int64_t>(std::ssize(kept), model.context() - 1));
    sequence.reset();
    if (count > 0) sequence.prefill(std::span(kept).last(static_cast<size_t>(count)));
    ++result.shifts;
    return true;
  };
  if (generation.is_complete()) return finish(StopReason::MaxTokens, Clock::now());
  const auto drafting = begin_drafting(model, options);
  if (drafting != nullptr) drafting->observe(sequence.tokens());
  bool is_token = generation.choose(sequence, logits);
  timings.first_token_seconds = seconds_since(start);
  const auto first_token = Clock::now();
  if (drafting != nullptr && is_token) drafting->observe({&generation.ids().back(), 1});
  // Returns the reason to end the text after its last token, if any. Called once per token.
  const auto ends = [&]() -> std::optional<StopReason> {
    if (!is_token) return StopReason::EndOfText;
    if (!on_token(generation.ids().back())) return StopReason::Callback;
    if (generation.must_end()) return StopReason::EndOfText;
    if (generation.is_complete()) return StopReason::MaxTokens;
    if (cancel_requested()) return StopReason::Cancelled;
    return std::nullopt;
  };
  std::vector<float> rows;
  std::vector<int32_t> fed;
  bool are_certain = false;  // those in `fed` after the first
  for (auto end = ends();; end = ends()) {
    if (end) return finish(*end, first_token);
    const auto pass_start = Clock::now();
    auto feed_start = pass_start;
    int64_t before = sequence.position();
    try {
      if (!make_room()) return finish(StopReason::ContextFull, first_token);
      before = sequence.position();
      fed.assign(1, generation.ids().back());
      const int64_t most = most_drafts(sequence, generation.left());
      const auto certain = generation.certain();
      are_certain = !certain.empty() && most > 0;
      if (are_certain) {
        fed.insert(fed.end(), certain.begin(),
                   certain.begin() + std::min<int64_t>(most, std::ssize(certain)));
      }
      if (drafting != nullptr) {
        drafting->attach(sequence);
        const auto drafts = drafting->propose(are_certain ? 0 : most);
        fed.insert(fed.end(), drafts.begin(), drafts.end());
      }
      feed_start = Clock::now();  // sources of drafts measure their own time
      if (fed.size() > 1 && !prepare_to_drop(sequence, std::ssize(fed))) {
        fed.resize(1);
        are_certain = false;
        if (drafting != nullptr) drafting->propose(0);
      }
      if (fed.size() == 1) {
        logits = feed(fed);
      } else {
        rows = sequence.all_logits(fed);
        logits = rows;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Cancelled) throw;
      drop_behind(sequence, before + 1);
      return finish(StopReason::Cancelled, first_token);
    }
    // Checks row by row, until the chosen token is not the draft.
    const auto width = static_cast<size_t>(model.vocab_size());
    const size_t known = generation.ids().size();
    double seconds = 0, feed_seconds = 0;
    size_t row = 0;
    try {
      for (;; ++row) {
        const int32_t draft = row + 1 < fed.size() ? fed[row + 1] : Generation::kNone;
        const auto one = logits.empty() ? logits : logits.subspan(row * width, width);
        is_token = generation.choose(sequence, one, draft);
        if (row == 0) {
          seconds = seconds_since(pass_start);
          feed_seconds = seconds_since(feed_start);
        }
        const bool goes_on =
            is_token && draft != Generation::kNone && generation.ids().back() == draft;
        if (!goes_on) break;
        end = ends();
        if (end) break;
      }
    } catch (...) {
      drop_behind(sequence, before + 1 + static_cast<int64_t>(row));  // the remaining drafts
      throw;
    }
    const auto chosen = std::span(generation.ids()).subspan(known);
    timings.token_seconds.insert(timings.token_seconds.end(), std::max<size_t>(chosen.size(), 1),
                                 seconds / std::max<double>(static_cast<double>(chosen.size()), 1));
    // The last chosen token is not fed yet; if an end token follows, all chosen tokens stay.
    if (fed.size() > 1) drop_behind(sequence, before + std::ssize(chosen) + (is_token ? 0 : 1));
    if (drafting != nullptr) {
      drafting->took(chosen, are_certain ? 0 : feed_seconds);
      result.drafted = drafting->num_drafted();
      result.accepted = drafting->num_accepted();
    }
    if (end) return finish(*end, first_token);
  }
}

}  // namespace pippin::runtime
