// Which tokens an answer may go on with: a grammar and a vocabulary, compiled. Tokens in, masks
// out.
//
//   auto constraint = std::make_shared<Constraint>(grammar, vocabulary);
//   ConstrainedText text(constraint);
//   text.mask();           // the tokens that may come next
//   text.accept(token);
//   text.rollback(1);
//
// What is allowed is exact: a token may come if a text of the grammar begins with the text so far
// and the token's bytes, in however many pieces those belong to different terminals.
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

// Any number of texts share one, from any thread; they take turns.
class Constraint {
 public:
  // `grammar` is finished, and nobody else's from now on.
  Constraint(std::shared_ptr<Grammar> grammar, std::shared_ptr<const Vocabulary> vocabulary);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  StateId start() const { return start_; }
  // These throw LimitExceeded where the grammar turns out to be too large or a call takes more work
  // than its GrammarLimits allow, and Cancelled; the same can be asked again.
  StateId step(StateId state, int32_t token);  // kDead: not allowed
  std::shared_ptr<const TokenMask> mask(StateId state);
  bool can_end(StateId state) const;
  bool must_end(StateId state) const;  // whether nothing but the end can come
  size_t num_states() const;           // that it took so far
  uint64_t work_done() const;          // in steps (work.h), including its grammar's
  uint64_t most_work() const { return matcher_.grammar().limits().work.mask; }  // per call
  // The text that has to come next, whatever follows: at most `most` bytes of it.
  std::string forced_text(StateId state, size_t most);

 private:
  TokenMask compute_mask(StateId state);
  void allow_behind(const TokenTrie& behind, StateId state, TokenMask& mask);

  std::shared_ptr<const Vocabulary> vocabulary_;
  mutable std::mutex mutex_;  // of all below
  Matcher matcher_;
  TerminalReader reader_;
  std::unordered_map<StateId, std::shared_ptr<const TokenMask>> masks_;  // the last ones
  std::deque<StateId> masks_in_order_;                                   // the oldest first
  StateId start_;
};

// A text under a constraint, as it grows.
class ConstrainedText {
 public:
  explicit ConstrainedText(std::shared_ptr<Constraint> constraint);

  // Of the tokens that may come next; whether the text may end is can_end(). Throws as Constraint.
  std::shared_ptr<const TokenMask> mask() { return constraint_->mask(states_.back()); }
  bool can_end() const { return constraint_->can_end(states_.back()); }
  // Whether nothing but the end can come.
  bool is_complete() const { return constraint_->must_end(states_.back()); }
  // False, and nothing has changed, for a token that may not come.
  bool accept(int32_t token);
  // Takes the last `count` tokens back.
  void rollback(size_t count) { states_.resize(states_.size() - count); }
  size_t size() const { return states_.size() - 1; }  // in tokens
  std::string forced_text(size_t most) { return constraint_->forced_text(states_.back(), most); }
  StateId state() const { return states_.back(); }
  Constraint& constraint() const { return *constraint_; }

 private:
  std::shared_ptr<Constraint> constraint_;
  std::vector<StateId> states_;  // before the first token, and after each
};

}  // namespace pippin::constrain
