#include "pippin/constrain/constraint.h"

#include <utility>

namespace pippin::constrain {

namespace {

constexpr size_t kMasksKept = 64;

// Exclusive use of the grammar for one call with limited work.
class Turn {
 public:
  Turn(std::mutex& mutex, Grammar& grammar)
      : lock_(mutex),
        limit_(grammar.regexes().work(), grammar.limits().work.mask, "what may come next") {}

 private:
  const std::lock_guard<std::mutex> lock_;
  const Work::Limit limit_;
};

}  // namespace

Constraint::Constraint(std::shared_ptr<Grammar> grammar,
                       std::shared_ptr<const Vocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)),
      matcher_(std::move(grammar)),
      reader_(matcher_.grammar().regexes(), vocabulary_),
      start_(matcher_.start()) {}

StateId Constraint::step(StateId state, int32_t token) {
  const Turn turn(mutex_, matcher_.grammar());
  if (token < 0 || static_cast<size_t>(token) >= vocabulary_->size()) return Matcher::kDead;
  const std::string_view bytes = vocabulary_->bytes(token);
  const StateId by_text = bytes.empty() ? Matcher::kDead : matcher_.step(state, bytes);
  return matcher_.either(by_text, matcher_.step_token(state, token));
}

bool Constraint::can_end(StateId state) const {
  const std::lock_guard lock(mutex_);
  return matcher_.can_end(state);
}

bool Constraint::must_end(StateId state) const {
  const std::lock_guard lock(mutex_);
  return matcher_.can_end(state) && matcher_.terminals(state).empty();
}

size_t Constraint::num_states() const {
  const std::lock_guard lock(mutex_);
  return matcher_.num_states();
}

uint64_t Constraint::work_done() const {
  const std::lock_guard lock(mutex_);
  return matcher_.grammar().regexes().work().done();
}

std::string Constraint::forced_text(StateId state, size_t most) {
  const Turn turn(mutex_, matcher_.grammar());
  std::string text;
  while (text.size() < most) {
    const std::optional<uint8_t> byte = matcher_.only_byte(state);
    if (!byte.has_value()) break;
    text += static_cast<char>(*byte);
    state = matcher_.step(state, *byte);
  }
  return text;
}

std::shared_ptr<const TokenMask> Constraint::mask(StateId state) {
  const Turn turn(mutex_, matcher_.grammar());
  const auto it = masks_.find(state);
  if (it != masks_.end()) return it->second;
  auto mask = std::make_shared<const TokenMask>(compute_mask(state));
  masks_.emplace(state, mask);
  masks_in_order_.push_back(state);
  if (masks_in_order_.size() > kMasksKept) {
    masks_.erase(masks_in_order_.front());
    masks_in_order_.pop_front();
  }
  return mask;
}

TokenMask Constraint::compute_mask(StateId state) {
  TokenMask mask(vocabulary_->size());
  const size_t count = matcher_.terminals(state).size();
  const size_t words = vocabulary_->size() / 64 + 1;
  for (size_t i = 0; i < count; ++i) {
    matcher_.grammar().regexes().work().count(words);
    // A copy, because new states move the terminals.
    const Matcher::Terminal terminal = matcher_.terminals(state)[i];
    if (terminal.rest == RegexPool::kNothing) {
      const Grammar::TokenSet& tokens = matcher_.tokens(terminal);
      if (tokens.negated) {
        TokenMask others(vocabulary_->size());
        for (size_t t = 0; t < vocabulary_->size(); ++t) others.allow(static_cast<int32_t>(t));
        for (const int32_t token : tokens.ids) {
          if (others.allows(token)) others.forbid(token);
        }
        mask.allow(others);
      } else {
        for (const int32_t token : tokens.ids) {
          if (token >= 0 && static_cast<size_t>(token) < vocabulary_->size()) mask.allow(token);
        }
      }
      continue;
    }
    const TerminalTokens& tokens = reader_.read(terminal.rest);
    if (tokens.plain_characters != 0) mask.allow(vocabulary_->plain_up_to(tokens.plain_characters));
    if (tokens.inside.vocab_size() != 0) mask.allow(tokens.inside);
    for (const int32_t token : tokens.more) mask.allow(token);
    if (!tokens.behind.nodes().empty()) allow_behind(tokens.behind, matcher_.after(terminal), mask);
  }
  return mask;
}

void Constraint::allow_behind(const TokenTrie& behind, StateId state, TokenMask& mask) {
  if (state == Matcher::kDead) return;
  const std::span<const TokenTrie::Node> nodes = behind.nodes();
  std::vector<StateId> states(behind.depth() + 1);
  states[0] = state;
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const StateId next = matcher_.step(states[node.depth - 1], node.byte);
    if (next == Matcher::kDead) {
      i = node.end;
      continue;
    }
    for (const int32_t token : behind.tokens(node)) mask.allow(token);
    states[node.depth] = next;
    ++i;
  }
}

ConstrainedText::ConstrainedText(std::shared_ptr<Constraint> constraint)
    : constraint_(std::move(constraint)), states_{constraint_->start()} {}

bool ConstrainedText::accept(int32_t token) {
  const StateId next = constraint_->step(states_.back(), token);
  if (next == Matcher::kDead) return false;
  states_.push_back(next);
  return true;
}

}  // namespace pippin::constrain
