// A parser for a grammar's texts, byte by byte, whose states are values.
//
// A state corresponds to a row of an Earley parser. For every place of the grammar where a terminal
// is being read, it has the expression for the rest of the terminal, and a continuation: the places
// to go on with after it. A continuation is a set of places, each with the continuation of its own
// rule, so continuations form the graph-structured stack of a generalized LR parser. States and
// continuations are interned: equal situations have equal numbers, their successors are computed
// once, and going back means using an older number.
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

// Not thread-safe. Steps throw LimitExceeded beyond `max_states` states, or as the grammar does,
// and can be repeated then.
class Matcher {
 public:
  static constexpr StateId kDead = 0;  // no text of the grammar has this prefix

  // `grammar` must be finished.
  explicit Matcher(std::shared_ptr<Grammar> grammar, size_t max_states = 1'000'000);

  StateId start() const { return start_; }
  StateId step(StateId state, uint8_t byte);
  StateId step(StateId state, std::string_view text);
  // Steps by a token as such: only places that name tokens accept it. Its bytes are ignored.
  StateId step_token(StateId state, int32_t token);
  // Returns the state after either of two texts.
  StateId either(StateId a, StateId b);
  // Returns whether the text so far is in the grammar.
  bool can_end(StateId state) const { return states_[state].can_end; }
  bool matches(std::string_view text) { return can_end(step(start_, text)); }
  // Returns the next byte if exactly one is possible, and the text cannot end or continue with a
  // token as such.
  std::optional<uint8_t> only_byte(StateId state);

  // --- contents of a state ---

  using PlaceId = uint32_t;
  using ContinuationId = uint32_t;
  // A terminal that is being read.
  struct Terminal {
    PlaceId place = 0;
    RegexId rest = 0;  // the rest to be read; kNothing: a set of tokens
    ContinuationId continuation = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const Terminal&, const Terminal&) = default;
  };
  std::span<const Terminal> terminals(StateId state) const;
  // Returns the state in which the terminal has just ended.
  StateId after(const Terminal& terminal);
  // Returns the token set of a terminal whose rest is kNothing.
  const Grammar::TokenSet& tokens(const Terminal& terminal) const;

  size_t num_states() const { return states_.size(); }
  Grammar& grammar() { return *grammar_; }
  const Grammar& grammar() const { return *grammar_; }

 private:
  static constexpr PlaceId kEnd = 0;  // end of the whole text
  // A position before a symbol of an alternative, or after its last one.
  struct Place {
    const Sequence* sequence = nullptr;
    uint32_t symbol = 0;
    bool is_end() const { return symbol == sequence->size(); }
    const Symbol& next() const { return (*sequence)[symbol]; }
  };
  // Where to continue: at a place, the end of whose alternative leads to the continuation.
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
