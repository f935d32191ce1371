// A session: a sequence, and the last chosen token, which is fed only when its logits are needed.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/api/llm.h"

struct pippin_session {
  explicit pippin_session(const pippin::LanguageModel& of)
      : pippin_session(of, of.new_sequence()) {}
  pippin_session(const pippin::LanguageModel& of, std::unique_ptr<pippin::Sequence> tokens)
      : model(of), sequence(std::move(tokens)), decoder(model) {}

  int64_t position() const { return sequence->position() + (pending ? 1 : 0); }
  std::vector<int32_t> tokens() const;
  // Feeds the pending token and these.
  void feed(std::span<const int32_t> ids);
  // The logits after the last token.
  std::span<const float> last_logits();
  void truncate(int64_t count);
  // Keeps what the tokens have in common with a prompt, as far as possible, gives the sequence the
  // rows of the others, and returns these.
  std::span<const int32_t> begin(const pippin::VisionPrompt& prompt);
  // Drops everything except the tokens of the sequence.
  void forget();

  const pippin::LanguageModel model;
  const std::unique_ptr<pippin::Sequence> sequence;
  std::optional<int32_t> pending;
  std::span<const float> logits;     // after the sequence's tokens; empty: unknown
  std::vector<float> copied_logits;  // of a fork
  pippin::TokenDecoder decoder;
  std::string piece;
  std::atomic<bool> is_used{false};
};
