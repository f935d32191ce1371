// State machines for arrays and objects of a form, item by item and property by property: the
// relevant part of the content so far, and the options for its continuation. States that cannot
// reach an end are never offered.
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

// Throws LimitExceeded for too many states.
void check_states(size_t count);

// Caches which states can reach an end.
template <typename State>
class KnownEnds {
 public:
  // Returns whether an end can be reached from `start` by the options that `options(state)`
  // returns, if their values are possible. `settled(state)` returns the answer for states where it
  // is obvious. Throws LimitExceeded for too many states.
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
    std::vector<Visit> path;  // depth first, without recursion: counts make long chains
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
    } catch (...) {  // nothing is known about the states on the path
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
  // Throws LimitExceeded for too many counts.
  ArrayStates(Algebra& algebra, ArrayForm form);

  struct State {
    uint64_t index = 0;            // of the next item; capped where further ones are alike
    std::vector<uint64_t> counts;  // of each ItemCount, capped where more do not matter
    std::vector<ValueId> used;     // if items are unique: the values so far, in order
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const State&, const State&) = default;
  };
  struct Option {
    ValueId value;
    State next;
  };
  // Returns every value that an item may have.
  std::vector<ValueId> values();
  // Uses what the algebra knows so far about possible values.
  bool is_possible() { return can_finish(start()); }

  State start() const;
  bool can_end(const State& state) const;
  std::vector<Option> options(const State& state);

 private:
  std::vector<Option> all_options(const State& state);
  std::vector<Option> without_used(const State& state, const std::vector<Option>& options);
  // Whether the items from `index` up to the minimum are possible, if nothing is counted.
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
    uint64_t next = 0;           // in schema order, the first property that may still come
    std::vector<uint64_t> seen;  // bits of properties, for any order
    uint64_t count = 0;          // capped where more do not matter
    uint64_t met = 0;            // bits of needs
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over it
    friend std::strong_ordering operator<=>(const State&, const State&) = default;
  };
  struct Option {
    RegexId key;  // without quotes
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
  std::vector<std::vector<bool>> may_meet_;  // by need and property
  KnownEnds<State> ends_;
};

}  // namespace pippin::constrain
