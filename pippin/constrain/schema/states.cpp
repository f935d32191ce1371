#include "pippin/constrain/schema/states.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"

namespace pippin::constrain {

namespace {

constexpr size_t kMostNeeds = 6;
constexpr size_t kMostStates = 100'000;

ValueId together(Algebra& algebra, ValueId a, ValueId b) {
  std::vector<Literal> literals = algebra.literals(a);
  const std::vector<Literal>& more = algebra.literals(b);
  literals.insert(literals.end(), more.begin(), more.end());
  return algebra.value(std::move(literals));
}

// Returns the options that can be chosen.
template <typename Option, typename CanFinish>
std::vector<Option> possible(Algebra& algebra, std::vector<Option> options,
                             const CanFinish& can_finish) {
  std::erase_if(options, [&](const Option& option) {
    return !algebra.is_possible(option.value) || !can_finish(option.next);
  });
  return options;
}

}  // namespace

void check_states(size_t count) {
  if (count > kMostStates) {
    fail(ErrorCode::LimitExceeded, "the schema's counts take more than {} states", kMostStates);
  }
}

// --- arrays ---

ArrayStates::ArrayStates(Algebra& algebra, ArrayForm form)
    : algebra_(algebra), form_(std::move(form)) {
  if (form_.counts.size() > kMostNeeds) {
    fail(ErrorCode::LimitExceeded, "the schema counts items in {} ways at one place, more than {}",
         form_.counts.size(), kMostNeeds);
  }
  last_index_ = std::max<uint64_t>(form_.prefix.size(), form_.least);
  if (form_.most != kNoMost) last_index_ = std::max(last_index_, form_.most);
  for (const ItemCount& count : form_.counts) {
    last_index_ = std::max(last_index_, count.first);
    if (count.last != kNoMost) last_index_ = std::max(last_index_, count.last);
  }
}

ValueId ArrayStates::both(ValueId a, ValueId b) {
  return together(algebra_, a, b);
}

ArrayStates::State ArrayStates::start() const {
  return {0, std::vector<uint64_t>(form_.counts.size()), {}};
}

bool ArrayStates::can_end(const State& state) const {
  if (state.index < form_.least) return false;
  for (size_t c = 0; c < form_.counts.size(); ++c) {
    if (state.counts[c] < form_.counts[c].least) return false;
  }
  return true;
}

std::vector<ArrayStates::Option> ArrayStates::all_options(const State& state) {
  count(1 + form_.counts.size());
  if (form_.most != kNoMost && state.index >= form_.most) return {};
  State next = state;
  next.index = std::min(state.index + 1, last_index_);
  std::vector<Option> options{
      {state.index < form_.prefix.size() ? form_.prefix[state.index] : form_.rest,
       std::move(next)}};
  for (size_t c = 0; c < form_.counts.size(); ++c) {
    const ItemCount& count = form_.counts[c];
    if (state.index < count.first || state.index >= count.last) continue;
    const bool has_most = count.most != kNoMost;
    if (!has_most && state.counts[c] >= count.least) continue;  // the minimum is reached
    std::vector<Option> decided;
    for (const Option& option : options) {
      if (!has_most || state.counts[c] < count.most) {
        decided.push_back({both(option.value, count.value), option.next});
        ++decided.back().next.counts[c];
      }
      decided.push_back({has_most ? both(option.value, count.other) : option.value, option.next});
    }
    options = std::move(decided);
  }
  return form_.unique.empty() ? options : without_used(state, options);
}

std::vector<ArrayStates::Option> ArrayStates::without_used(const State& state,
                                                           const std::vector<Option>& options) {
  std::vector<Option> left;
  for (const Option& option : options) {
    const std::optional<std::vector<Literal>> constants = algebra_.constants(option.value);
    if (!constants.has_value()) {
      fail(ErrorCode::Unsupported,
           "{}: unique items are supported where \"enum\" or \"const\" lists them, not of other "
           "kinds",
           form_.unique);
    }
    count(constants->size() * (4 + state.used.size() / 4));
    for (const Literal& constant : *constants) {
      const ValueId id = algebra_.value(constant);
      const auto place = std::lower_bound(state.used.begin(), state.used.end(), id);
      if (place != state.used.end() && *place == id) continue;
      left.push_back({both(option.value, id), option.next});
      std::vector<ValueId>& used = left.back().next.used;
      used.insert(std::lower_bound(used.begin(), used.end(), id), id);
    }
  }
  return left;
}

std::vector<ValueId> ArrayStates::values() {
  std::vector<uint64_t> indices{form_.prefix.size()};
  for (uint64_t i = 0; i < form_.prefix.size(); ++i) indices.push_back(i);
  for (const ItemCount& count : form_.counts) {
    indices.push_back(count.first);
    if (count.last != kNoMost) indices.push_back(count.last);
  }
  std::vector<ValueId> values;
  for (const uint64_t index : indices) {
    if (index >= form_.most) continue;
    // No count started, and any combination of counts completed.
    for (uint64_t done = 0; done < (uint64_t{1} << form_.counts.size()); ++done) {
      State state{index, std::vector<uint64_t>(form_.counts.size()), {}};
      for (size_t c = 0; c < form_.counts.size(); ++c) {
        if (((done >> c) & 1) != 0)
          state.counts[c] =
              form_.counts[c].most == kNoMost ? form_.counts[c].least : form_.counts[c].most;
      }
      for (const Option& option : all_options(state)) values.push_back(option.value);
    }
  }
  ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

bool ArrayStates::has_enough(uint64_t index) const {
  if (form_.least > form_.most) return false;
  for (uint64_t i = index; i < std::min<uint64_t>(form_.least, form_.prefix.size()); ++i) {
    if (!algebra_.is_possible(form_.prefix[i])) return false;
  }
  return form_.least <= form_.prefix.size() || algebra_.is_possible(form_.rest);
}

std::optional<bool> ArrayStates::settled(const State& state) const {
  count(1 + form_.prefix.size());
  if (can_end(state)) return true;
  if (form_.counts.empty() && form_.unique.empty()) return has_enough(state.index);
  return std::nullopt;
}

bool ArrayStates::can_finish(const State& state) {
  if (const std::optional<bool> known = settled(state)) return *known;
  return ends_.is_near(
      algebra_, state, [&](const State& at) { return all_options(at); },
      [&](const State& at) { return settled(at); });
}

std::vector<ArrayStates::Option> ArrayStates::options(const State& state) {
  return possible(algebra_, all_options(state),
                  [&](const State& next) { return can_finish(next); });
}

// --- objects ---

ObjectStates::ObjectStates(Algebra& algebra, ObjectForm form, PropertyOrder order)
    : algebra_(algebra), form_(std::move(form)), order_(order) {
  if (form_.needs.size() > kMostNeeds) {
    fail(ErrorCode::LimitExceeded,
         "the schema asks for {} kinds of properties at one place, more than {}",
         form_.needs.size(), kMostNeeds);
  }
  last_count_ = std::max<uint64_t>(1, form_.least);
  if (form_.most != kNoMost) last_count_ = std::max(last_count_, form_.most);
  for (const ObjectForm::Need& need : form_.needs) {
    std::vector<bool> may;
    for (const ObjectForm::Property& property : form_.properties) {
      may.push_back(algebra_.pool().overlap(algebra_.keywords().key(property.name), need.keys));
    }
    may_meet_.push_back(std::move(may));
  }
}

ValueId ObjectStates::both(ValueId a, ValueId b) {
  return together(algebra_, a, b);
}

ObjectStates::State ObjectStates::start() const {
  State state;
  if (order_ == PropertyOrder::Any) state.seen.resize((form_.properties.size() + 63) / 64);
  return state;
}

bool ObjectStates::has_seen(const State& state, size_t property) const {
  if (order_ == PropertyOrder::Schema) return property < state.next;
  return ((state.seen[property / 64] >> (property % 64)) & 1) != 0;
}

bool ObjectStates::can_end(const State& state) const {
  if (state.count < form_.least || state.met + 1 != uint64_t{1} << form_.needs.size()) return false;
  for (size_t p = 0; p < form_.properties.size(); ++p) {
    if (form_.properties[p].required && !has_seen(state, p)) return false;
  }
  return true;
}

// Adds options with and without meeting the needs that the key can meet.
void ObjectStates::add_options(const State& state, State next, RegexId key,
                               std::optional<size_t> property, ValueId value,
                               std::vector<Option>& out) {
  next.count = std::min(state.count + 1, last_count_);
  std::vector<Option> options{{key, value, std::move(next)}};
  for (size_t n = 0; n < form_.needs.size(); ++n) {
    if (((state.met >> n) & 1) != 0) continue;
    const size_t count = options.size();
    for (size_t i = 0; i < count; ++i) {
      RegexId meeting = options[i].key;
      if (property.has_value()) {
        if (!may_meet_[n][*property]) continue;
      } else {
        meeting = algebra_.pool().all_of(meeting, form_.needs[n].keys);
        if (algebra_.pool().is_nothing(meeting)) continue;
      }
      Option option{meeting, both(options[i].value, form_.needs[n].value), options[i].next};
      option.next.met |= uint64_t{1} << n;
      options.push_back(std::move(option));
    }
  }
  out.insert(out.end(), options.begin(), options.end());
}

std::vector<ObjectStates::Option> ObjectStates::all_options(const State& state) {
  count(1 + form_.properties.size() + form_.others.size());
  std::vector<Option> options;
  if (form_.most != kNoMost && state.count >= form_.most) return options;
  bool may_be_other = true;
  for (size_t p = order_ == PropertyOrder::Schema ? state.next : 0; p < form_.properties.size();
       ++p) {
    if (has_seen(state, p)) continue;
    const ObjectForm::Property& property = form_.properties[p];
    State next = state;
    if (order_ == PropertyOrder::Schema) {
      next.next = p + 1;
    } else {
      next.seen[p / 64] |= uint64_t{1} << (p % 64);
    }
    add_options(state, std::move(next), algebra_.keywords().key(property.name), p, property.value,
                options);
    if (order_ == PropertyOrder::Schema && property.required) {
      may_be_other = false;
      break;
    }
  }
  if (!may_be_other) return options;
  for (const ObjectForm::Others& others : form_.others) {
    State next = state;
    if (order_ == PropertyOrder::Schema) next.next = form_.properties.size();
    add_options(state, std::move(next), others.keys, std::nullopt, others.value, options);
  }
  return options;
}

std::vector<ValueId> ObjectStates::values() {
  std::vector<ValueId> values;
  const auto add = [&](ValueId value, const auto& may_meet) {
    std::vector<ValueId> all{value};
    for (size_t n = 0; n < form_.needs.size(); ++n) {
      if (!may_meet(n)) continue;
      const size_t count = all.size();
      for (size_t i = 0; i < count; ++i) all.push_back(both(all[i], form_.needs[n].value));
    }
    values.insert(values.end(), all.begin(), all.end());
  };
  for (size_t p = 0; p < form_.properties.size(); ++p) {
    add(form_.properties[p].value, [&](size_t n) { return static_cast<bool>(may_meet_[n][p]); });
  }
  for (const ObjectForm::Others& others : form_.others) {
    add(others.value, [](size_t) { return true; });
  }
  return values;
}

std::optional<bool> ObjectStates::settled(const State& state) const {
  count(1 + form_.properties.size());
  if (can_end(state)) return true;
  uint64_t required = 0, available = 0;
  for (size_t p = 0; p < form_.properties.size(); ++p) {
    if (has_seen(state, p)) continue;
    const bool possible = algebra_.is_possible(form_.properties[p].value);
    if (form_.properties[p].required && !possible) return false;
    required += form_.properties[p].required ? 1 : 0;
    available += possible ? 1 : 0;
  }
  const bool has_others = ranges::any_of(form_.others, [&](const ObjectForm::Others& others) {
    return algebra_.is_possible(others.value);
  });
  if (form_.most != kNoMost && state.count + required > form_.most) return false;
  if (state.count + available < form_.least && !has_others) return false;
  if (state.met + 1 == uint64_t{1} << form_.needs.size()) return true;
  return std::nullopt;
}

bool ObjectStates::can_finish(const State& state) {
  if (const std::optional<bool> known = settled(state)) return *known;
  // Options that meet needs come first, which finds an end sooner.
  const auto sorted = [&](const State& at) {
    std::vector<Option> options = all_options(at);
    std::stable_sort(options.begin(), options.end(),
                     [&](const Option& a, const Option& b) { return a.next.met > b.next.met; });
    return options;
  };
  return ends_.is_near(algebra_, state, sorted, [&](const State& at) { return settled(at); });
}

std::vector<ObjectStates::Option> ObjectStates::options(const State& state) {
  return possible(algebra_, all_options(state),
                  [&](const State& next) { return can_finish(next); });
}

}  // namespace pippin::constrain
