// Where drafts come from: tokens that probably follow a text. A model computes what follows all of
// them in one pass, so those that were right cost little more than one (drafting.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace pippin::runtime {

// A token that may come next. How often those of a level are right is measured as they come, so
// levels are to tell apart what differs in that: a longer match, a higher probability.
struct Draft {
  int32_t id = 0;
  int level = 0;  // 0 to kDraftLevels - 1
};
constexpr int kDraftLevels = 16;

// One text's. Sources are asked in the order of preference: the first one that has a draft gives
// all of them until the next token is known.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // Tokens that were added to the text: the prompt, and then whatever was generated.
  virtual void observe(std::span<const int32_t> ids) = 0;
  // The token behind the text and what next() gave since the last observe(); nothing: no idea.
  virtual std::optional<Draft> next() = 0;
  // What to expect of a level before anything was measured, and how sure that is, in drafts.
  struct Prior {
    double rate = 0, weight = 0;
  };
  virtual Prior prior(int level) const = 0;
  // Whether next() costs next to nothing, as long as it is not right more often than not.
  virtual bool is_free() const = 0;
};

}  // namespace pippin::runtime
