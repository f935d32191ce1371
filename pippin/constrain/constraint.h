// A compiled grammar and vocabulary that say which tokens may continue an answer: tokens in, masks
// out.
//
//   auto constraint = std::make_shared<Constraint>(grammar, vocabulary);
//   ConstrainedText text(constraint);
//   text.mask();           // the tokens that may come next
//   text.accept(token);
//   text.rollback(1);
//
// Masks are exact: a token is allowed if and only if some text of the grammar begins with the text
// so far followed by the token's bytes, even if these span several terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/constrain/matcher.h"
#include "pippin/constrain/terminal_tokens.h"
#include "pippin/constrain/token_mask.h"
#include "pippin/constrain/vocabulary.h"

namespace pippin::constrain {

// Thread-safe: any number of texts share a constraint; their calls are serialized.
class Constraint {
 public:
  // `grammar` must be finished; the constraint takes sole ownership of it.
  Constraint(std::shared_ptr<Grammar> grammar, std::shared_ptr<const Vocabulary> vocabulary);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  StateId start() const { return start_; }
  // These functions throw LimitExceeded if the grammar turns out to be too large, or if a call
  // takes more work than its GrammarLimits allow, and Cancelled. A failed call can be repeated.
  StateId step(StateId state, int32_t token);  // kDead: not allowed
  std::shared_ptr<const TokenMask> mask(StateId state);
  bool can_end(StateId state) const;
  bool must_end(StateId state) const;  // whether only the end is possible
  size_t num_states() const;           // states made so far
  uint64_t work_done() const;          // in steps (work.h), including its grammar's
  uint64_t most_work() const { return matcher_.grammar().limits().work.mask; }  // per call
  // Returns the text that must come next, whatever follows it; at most `most` bytes.
  std::string forced_text(StateId state, size_t most);

 private:
  TokenMask compute_mask(StateId state);
  void allow_behind(const TokenTrie& behind, StateId state, TokenMask& mask);

  std::shared_ptr<const Vocabulary> vocabulary_;
  mutable std::mutex mutex_;  // guards all members below
  Matcher matcher_;
  TerminalReader reader_;
  std::unordered_map<StateId, std::shared_ptr<const TokenMask>> masks_;  // most recent masks
  std::deque<StateId> masks_in_order_;                                   // oldest first
  StateId start_;
};

// A text under a constraint, which grows token by token.
class ConstrainedText {
 public:
  explicit ConstrainedText(std::shared_ptr<Constraint> constraint);

  // The tokens that may come next; can_end() says whether the text may end. Throws as Constraint.
  std::shared_ptr<const TokenMask> mask() { return constraint_->mask(states_.back()); }
  bool can_end() const { return constraint_->can_end(states_.back()); }
  // Returns whether only the end is possible.
  bool is_complete() const { return constraint_->must_end(states_.back()); }
  // Returns false and changes nothing if the token is not allowed.
  bool accept(int32_t token);
  // Removes the last `count` tokens.
  void rollback(size_t count) { states_.resize(states_.size() - count); }
  size_t size() const { return states_.size() - 1; }  // number of tokens
  std::string forced_text(size_t most) { return constraint_->forced_text(states_.back(), most); }
  StateId state() const { return states_.back(); }
  Constraint& constraint() const { return *constraint_; }

 private:
  std::shared_ptr<Constraint> constraint_;
  std::vector<StateId> states_;  // before the first token, and after each
};

}  // namespace pippin::constrain
