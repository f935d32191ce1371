// How arrays and objects of a form go on, item by item and property by property: what has come so
// far, as far as it matters, and what may come next. A state that cannot be brought to an end is
// never offered.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pippin/constrain/schema/algebra.h"
#include "pippin/constrain/schema/form.h"
#include "pippin/constrain/schema/schema.h"

namespace pippin::constrain {

// Throws LimitExceeded for more than can be kept.
void check_states(size_t count);

// Which states can be brought to an end, as far as it was asked.
template <typename State>
class KnownEnds {
 public:
  // Whether the options that `options(state)` gives lead there, by values that are possible.
  // `settled(state)` says of a state whether it can, where that shows without a search. Throws
  // LimitExceeded for too many states.
  template <typename Options, typename Settled>
  bool is_near(Algebra& algebra, const State& start, const Options& options,
               const Settled& settled) {
    using Option = typename decltype(options(start))::value_type;
    struct Visit {
      State state;
      std::vector<Option> options;
      size_t next = 0;
    };
    if (const auto it = known_.find(start); it != known_.end()) return it->second;
    std::vector<Visit> path;  // depth first: chains of states are as long as a schema's counts
    const auto open = [&](const State& state) {
      known_.emplace(state, false);
      path.push_back({state, {}});
      check_states(known_.size());
      path.back().options = options(state);
    };
    try {
      open(start);
      bool found = false;
      while (!found && !path.empty()) {
        Visit& visit = path.back();
        if (visit.next == visit.options.size()) {
          path.pop_back();
          continue;
        }
        const Option& option = visit.options[visit.next++];
        if (option.next == visit.state || !algebra.is_possible(option.value)) continue;
        if (const std::optional<bool> known = settled(option.next)) {
          found = *known;
        } else if (const auto it = known_.find(option.next); it != known_.end()) {
          found = it->second;
        } else {
          open(State(option.next));
        }
      }
    } catch (...) {  // nothing is known of those on the way
      for (const Visit& visit : path) known_.erase(visit.state);
      throw;
    }
    const bool found = !path.empty();
    for (const Visit& visit : path) known_[visit.state] = true;
    return found;
  }

 private:
  std::map<State, bool> known_;
};

class ArrayStates {
 public:
  // Throws LimitExceeded for more counts than can be kept apart.
  ArrayStates(Algebra& algebra, ArrayForm form);

  struct State {
    uint64_t index = 0;            // of the next item; more than it takes to tell apart are one
    std::vector<uint64_t> counts;  // of each ItemCount, as far as it matters
    std::vector<ValueId> used;     // where items are unique, those that there are, in order
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const State&, const State&) = default;
  };
  struct Option {
    ValueId value;
    State next;
  };
  // Every value that an item may be asked to be.
  std::vector<ValueId> values();
  // As the algebra knows by now what is possible.
  bool is_possible() { return can_finish(start()); }

  State start() const;
  bool can_end(const State& state) const;
  std::vector<Option> options(const State& state);

 private:
  std::vector<Option> all_options(const State& state);
  std::vector<Option> without_used(const State& state, const std::vector<Option>& options);
  // The items from the index on up to the least number, where nothing is counted.
  bool has_enough(uint64_t index) const;
  bool can_finish(const State& state);
  std::optional<bool> settled(const State& state) const;
  ValueId both(ValueId a, ValueId b);
  void count(uint64_t steps) const { algebra_.pool().work().count(steps); }

  Algebra& algebra_;
  ArrayForm form_;
  uint64_t last_index_ = 0;
  KnownEnds<State> ends_;
};

class ObjectStates {
 public:
  ObjectStates(Algebra& algebra, ObjectForm form, PropertyOrder order);

  struct State {
    uint64_t next = 0;           // the first property that may still come, in the schema's order
    std::vector<uint64_t> seen;  // bits of properties, in any order
    uint64_t count = 0;          // as far as it matters
    uint64_t met = 0;            // bits of needs
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const State&, const State&) = default;
  };
  struct Option {
    RegexId key;  // between the quotes
    ValueId value;
    State next;
  };
  std::vector<ValueId> values();
  bool is_possible() { return can_finish(start()); }

  State start() const;
  bool can_end(const State& state) const;
  std::vector<Option> options(const State& state);

 private:
  std::vector<Option> all_options(const State& state);
  void add_options(const State& state, State next, RegexId key, std::optional<size_t> property,
                   ValueId value, std::vector<Option>& out);
  bool can_finish(const State& state);
  std::optional<bool> settled(const State& state) const;
  bool has_seen(const State& state, size_t property) const;
  ValueId both(ValueId a, ValueId b);
  void count(uint64_t steps) const { algebra_.pool().work().count(steps); }

  Algebra& algebra_;
  ObjectForm form_;
  PropertyOrder order_;
  uint64_t last_count_ = 1;
  std::vector<std::vector<bool>> may_meet_;  // by need: which properties
  KnownEnds<State> ends_;
};

}  // namespace pippin::constrain
