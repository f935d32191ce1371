// Sources of drafts: tokens that probably follow a text. A model verifies all of them in one pass,
// so correct drafts cost little more than one token (drafting.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace pippin::runtime {

class Sequence;

// A token that may come next. Acceptance rates are measured by level, so levels should separate
// drafts of different reliability: by length of the match, by probability.
struct Draft {
  int32_t id = 0;
  int level = 0;  // 0 to kDraftLevels - 1
};
constexpr int kDraftLevels = 16;

// Makes the drafts of one text. Sources are asked in order of preference: the first with a draft
// supplies all of them until the next token is known.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // The sequence of the text, before each pass: all but the last of the observed tokens are fed.
  virtual void attach(Sequence& /*sequence*/) {}
  // Adds tokens of the text: the prompt, then the generated tokens.
  virtual void observe(std::span<const int32_t> ids) = 0;
  // The next token after the text and the drafts returned since the last observe(); empty if
  // unknown.
  virtual std::optional<Draft> next() = 0;
  // The expected acceptance rate of a level before any measurement, with its weight in drafts.
  struct Prior {
    double rate = 0, weight = 0;
  };
  virtual Prior prior(int level) const = 0;
  // Whether next() costs almost nothing.
  virtual bool is_free() const = 0;
};

}  // namespace pippin::runtime
