// Which texts a grammar has, byte by byte: a parser whose states are values.
//
// A state is what an Earley parser's row is: for every place of the grammar where a terminal is
// being read, the expression that is left of it, and the places to go on with behind it. Such a
// continuation is a set of places, each with the continuation of its own rule, so that they form
// the graph-structured stack of a generalized LR parser. States and continuations are kept once
// each, by their contents: equal situations are equal numbers, what follows them is computed once,
// and to go back is to use an older number.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pippin/constrain/flat_map.h"
#include "pippin/constrain/grammar.h"

namespace pippin::constrain {

using StateId = uint32_t;

// Not for several threads at once. Steps throw LimitExceeded where there are more than `max_states`
// states, or as the grammar, and can be taken again then.
class Matcher {
 public:
  static constexpr StateId kDead = 0;  // of texts with which no text of the grammar begins

  // `grammar` is finished.
  explicit Matcher(std::shared_ptr<Grammar> grammar, size_t max_states = 1'000'000);

  StateId start() const { return start_; }
  StateId step(StateId state, uint8_t byte);
  StateId step(StateId state, std::string_view text);
  // By a token as such: what the places allow that name tokens. Not by its bytes.
  StateId step_token(StateId state, int32_t token);
  // What either of two texts could go on with.
  StateId either(StateId a, StateId b);
  // Whether the text so far is one of the grammar's.
  bool can_end(StateId state) const { return states_[state].can_end; }
  bool matches(std::string_view text) { return can_end(step(start_, text)); }
  // The only byte that the text can go on with, if there is exactly one and it cannot end, or go on
  // with a token as such.
  std::optional<uint8_t> only_byte(StateId state);

  // --- what a state is made of ---

  using PlaceId = uint32_t;
  using ContinuationId = uint32_t;
  // A terminal that is being read.
  struct Terminal {
    PlaceId place = 0;
    RegexId rest = 0;  // what is left of it; kNothing: a set of tokens
    ContinuationId continuation = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Terminal&, const Terminal&) = default;
  };
  std::span<const Terminal> terminals(StateId state) const;
  // The state in which the terminal has just ended.
  StateId after(const Terminal& terminal);
  // The set of tokens that a terminal of that kind stands for.
  const Grammar::TokenSet& tokens(const Terminal& terminal) const;

  size_t num_states() const { return states_.size(); }
  Grammar& grammar() { return *grammar_; }
  const Grammar& grammar() const { return *grammar_; }

 private:
  static constexpr PlaceId kEnd = 0;  // of the whole text
  // In front of a symbol of an alternative, or behind its last one.
  struct Place {
    const Sequence* sequence = nullptr;
    uint32_t symbol = 0;
    bool is_end() const { return symbol == sequence->size(); }
    const Symbol& next() const { return (*sequence)[symbol]; }
  };
  // Go on at the place; the end of its alternative leads to the continuation.
  struct Return {
    PlaceId place = kEnd;
    ContinuationId continuation = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Return&, const Return&) = default;
  };
  struct State {
    size_t begin = 0;  // in terminals_
    uint32_t size = 0;
    bool can_end = false;
  };
  class Closure;

  void count(uint64_t steps) { grammar_->regexes().work().count(steps); }
  PlaceId first_place(RuleId rule, size_t alternative);
  ContinuationId keep(std::vector<Return>& returns);
  std::span<const Return> returns(ContinuationId id) const;
  StateId keep(std::vector<Terminal>& terminals, bool can_end);

  std::shared_ptr<Grammar> grammar_;
  size_t max_states_;
  std::vector<Place> places_;
  std::vector<std::vector<PlaceId>> first_places_;  // by rule and alternative
  std::vector<Return> returns_;
  std::vector<std::pair<size_t, size_t>> continuations_;  // begin and size in returns_
  std::unordered_multimap<uint64_t, ContinuationId> continuations_by_hash_;
  std::vector<Terminal> terminals_;
  std::vector<State> states_;
  std::unordered_multimap<uint64_t, StateId> states_by_hash_;
  FlatMap steps_;  // by state and byte
  FlatMap after_;  // by place and continuation
  StateId start_ = kDead;
};

}  // namespace pippin::constrain
