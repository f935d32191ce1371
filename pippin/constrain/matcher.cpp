#include "pippin/constrain/matcher.h"

#include <algorithm>
#include <bit>
#include <map>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"

namespace pippin::constrain {

namespace {

template <typename T>
uint64_t hash_of(std::span<const T> items, uint64_t hash) {
  static_assert(sizeof(T) % sizeof(uint32_t) == 0);
  for (const T& item : items) {
    const auto* words = reinterpret_cast<const uint32_t*>(&item);
    for (size_t w = 0; w < sizeof(T) / sizeof(uint32_t); ++w) {
      hash = (hash ^ words[w]) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

uint64_t pair_key(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
}

template <typename T>
void make_set(std::vector<T>& items) {
  ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

// Computes a state from the continuing terminals and the places reached. First, all returns are
// followed, so that each reached place has its complete continuation. Then the symbols at these
// places begin, each rule once for all of its callers.
class Matcher::Closure {
 public:
  explicit Closure(Matcher& matcher) : m_(matcher) {}

  void go_on(const Terminal& terminal) {
    add(terminal.place, terminal.rest, terminal.continuation);
  }
  void reach(PlaceId place, ContinuationId continuation) {
    reached_.push_back({place, continuation});
  }
  void set_can_end() { can_end_ = true; }

  StateId finish() {
    follow_ends();
    begin_rules();
    std::vector<Terminal> merged = merge();
    return m_.keep(merged, can_end_);
  }

 private:
  void add(PlaceId place, RegexId rest, ContinuationId continuation) {
    terminals_.push_back({place, rest, continuation});
  }

  void follow_ends() {
    make_set(reached_);  // grows in the loop
    std::unordered_map<uint64_t, bool> seen;
    for (const Return& at : reached_) seen.emplace(pair_key(at.place, at.continuation), true);
    for (size_t i = 0; i < reached_.size(); ++i) {
      m_.count(1);
      const Return at = reached_[i];
      if (at.place == kEnd) {
        can_end_ = true;
        continue;
      }
      const auto reach_new = [&](const Return& next) {
        if (seen.emplace(pair_key(next.place, next.continuation), true).second)
          reached_.push_back(next);
      };
      const Place place = m_.places_[at.place];
      if (place.is_end()) {
        const std::span<const Return> returns = m_.returns(at.continuation);
        m_.count(returns.size());
        for (const Return& next : returns) reach_new(next);
      } else if (m_.grammar_->is_nullable(place.next())) {
        reach_new({at.place + 1, at.continuation});
      }
    }
  }

  void begin_rules() {
    make_set(reached_);
    for (size_t i = 0; i < reached_.size();) {
      const PlaceId place = reached_[i].place;
      size_t end = i + 1;
      while (end < reached_.size() && reached_[end].place == place) ++end;
      if (place != kEnd && !m_.places_[place].is_end()) {
        ContinuationId continuation = reached_[i].continuation;
        if (end > i + 1) {
          std::vector<Return> together;
          for (size_t j = i; j < end; ++j) {
            const std::span<const Return> returns = m_.returns(reached_[j].continuation);
            m_.count(returns.size());
            together.insert(together.end(), returns.begin(), returns.end());
          }
          continuation = m_.keep(together);
        }
        begin(place, continuation);
      }
      i = end;
    }
    // Highest rule first: callers are higher than the rules that they begin with, so all callers of
    // a rule are known.
    while (!callers_.empty()) {
      const auto top = callers_.begin();
      const RuleId rule = top->first.second;
      std::vector<Return> returns = std::move(top->second);
      callers_.erase(top);
      const ContinuationId continuation = m_.keep(returns);
      const size_t count = m_.grammar_->alternatives(rule).size();
      for (size_t a = 0; a < count; ++a) {
        for (PlaceId place = m_.first_place(rule, a);; ++place) {
          if (m_.places_[place].is_end()) break;
          begin(place, continuation);
          if (!m_.grammar_->is_nullable(m_.places_[place].next())) break;
        }
      }
    }
  }

  // Begins the symbol at a place that is not the end of its alternative.
  void begin(PlaceId place, ContinuationId continuation) {
    m_.count(1);
    const Symbol& symbol = m_.places_[place].next();
    switch (symbol.kind) {
      case Symbol::Kind::Regex:
        if (!m_.grammar_->regexes().is_nothing(symbol.id)) add(place, symbol.id, continuation);
        break;
      case Symbol::Kind::Tokens:
        add(place, RegexPool::kNothing, continuation);
        break;
      case Symbol::Kind::Rule: {
        std::vector<Return>& returns =
            callers_[{UINT32_MAX - m_.grammar_->height(symbol.id), symbol.id}];
        // A call at the end of an alternative returns to the caller's return points, so that lists
        // do not grow with each item.
        if (m_.places_[place + 1].is_end()) {
          const std::span<const Return> further = m_.returns(continuation);
          m_.count(further.size());
          returns.insert(returns.end(), further.begin(), further.end());
        } else {
          returns.push_back({place + 1, continuation});
        }
        break;
      }
    }
  }

  // Merges terminals at the same point into one with all their continuations.
  std::vector<Terminal> merge() {
    make_set(terminals_);
    std::vector<Terminal> merged;
    for (size_t i = 0; i < terminals_.size();) {
      size_t end = i + 1;
      while (end < terminals_.size() && terminals_[end].place == terminals_[i].place &&
             terminals_[end].rest == terminals_[i].rest) {
        ++end;
      }
      Terminal terminal = terminals_[i];
      // An empty rest has already been followed.
      if (terminal.rest != RegexPool::kEmpty) {
        if (end > i + 1) {
          std::vector<Return> together;
          for (size_t j = i; j < end; ++j) {
            const std::span<const Return> returns = m_.returns(terminals_[j].continuation);
            m_.count(returns.size());
            together.insert(together.end(), returns.begin(), returns.end());
          }
          terminal.continuation = m_.keep(together);
        }
        merged.push_back(terminal);
      }
      i = end;
    }
    return merged;
  }

  Matcher& m_;
  std::vector<Terminal> terminals_;
  std::vector<Return> reached_;
  std::map<std::pair<uint32_t, RuleId>, std::vector<Return>> callers_;  // by height, highest first
  bool can_end_ = false;
};

Matcher::Matcher(std::shared_ptr<Grammar> grammar, size_t max_states)
    : grammar_(std::move(grammar)), max_states_(max_states), places_(1) {
  std::vector<Return> nowhere;
  keep(nowhere);
  std::vector<Terminal> dead;
  keep(dead, false);
  std::vector<Return> end{{kEnd, 0}};
  const ContinuationId whole = keep(end);
  Closure closure(*this);
  // As if a rule consisted of the root alone.
  for (size_t a = 0; a < grammar_->alternatives(grammar_->root()).size(); ++a) {
    closure.reach(first_place(grammar_->root(), a), whole);
  }
  start_ = closure.finish();
}

Matcher::PlaceId Matcher::first_place(RuleId rule, size_t alternative) {
  if (first_places_.size() <= rule) first_places_.resize(grammar_->num_rules());
  std::vector<PlaceId>& firsts = first_places_[rule];
  if (firsts.empty()) {
    for (const Sequence& sequence : grammar_->alternatives(rule)) {
      firsts.push_back(static_cast<PlaceId>(places_.size()));
      for (uint32_t s = 0; s <= sequence.size(); ++s) places_.push_back({&sequence, s});
    }
  }
  return firsts[alternative];
}

std::span<const Matcher::Return> Matcher::returns(ContinuationId id) const {
  const auto [begin, size] = continuations_[id];
  return std::span(returns_).subspan(begin, size);
}

Matcher::ContinuationId Matcher::keep(std::vector<Return>& returns) {
  count(returns.size());
  make_set(returns);
  const uint64_t hash = hash_of<Return>(returns, 1);
  const auto [first, last] = continuations_by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (ranges::equal(this->returns(it->second), returns)) return it->second;
  }
  if (returns_.size() + returns.size() > 16 * max_states_) {
    fail(ErrorCode::LimitExceeded, "a constraint nests in more than {} ways", 16 * max_states_);
  }
  const auto id = static_cast<ContinuationId>(continuations_.size());
  continuations_.emplace_back(returns_.size(), returns.size());
  returns_.insert(returns_.end(), returns.begin(), returns.end());
  continuations_by_hash_.emplace(hash, id);
  return id;
}

StateId Matcher::keep(std::vector<Terminal>& terminals, bool can_end) {
  count(terminals.size());
  const uint64_t hash = hash_of<Terminal>(terminals, can_end ? 2 : 3);
  const auto [first, last] = states_by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (can_end == states_[it->second].can_end &&
        ranges::equal(this->terminals(it->second), terminals)) {
      return it->second;
    }
  }
  if (states_.size() >= max_states_ || terminals_.size() + terminals.size() > 16 * max_states_) {
    fail(ErrorCode::LimitExceeded, "a constraint has more than {} states", max_states_);
  }
  const auto id = static_cast<StateId>(states_.size());
  states_.push_back({terminals_.size(), static_cast<uint32_t>(terminals.size()), can_end});
  terminals_.insert(terminals_.end(), terminals.begin(), terminals.end());
  states_by_hash_.emplace(hash, id);
  return id;
}

std::span<const Matcher::Terminal> Matcher::terminals(StateId state) const {
  return std::span(terminals_).subspan(states_[state].begin, states_[state].size);
}

const Grammar::TokenSet& Matcher::tokens(const Terminal& terminal) const {
  return grammar_->tokens(places_[terminal.place].next().id);
}

StateId Matcher::step(StateId state, uint8_t byte) {
  if (state == kDead) return kDead;
  count(1);
  const uint64_t key = pair_key(state, byte);
  if (const uint32_t* known = steps_.find(key)) return *known;
  RegexPool& regexes = grammar_->regexes();
  std::vector<Terminal> alive;
  for (size_t i = 0; i < states_[state].size; ++i) {
    Terminal terminal = terminals(state)[i];
    terminal.rest = regexes.derivative(terminal.rest, byte);
    if (!regexes.is_nothing(terminal.rest)) alive.push_back(terminal);
  }
  if (alive.empty()) return kDead;
  Closure closure(*this);
  for (const Terminal& terminal : alive) {
    closure.go_on(terminal);
    if (regexes.is_nullable(terminal.rest))
      closure.reach(terminal.place + 1, terminal.continuation);
  }
  const StateId next = closure.finish();
  steps_.insert(key, next);
  return next;
}

StateId Matcher::step(StateId state, std::string_view text) {
  for (const char c : text) {
    if (state == kDead) break;
    state = step(state, static_cast<uint8_t>(c));
  }
  return state;
}

StateId Matcher::step_token(StateId state, int32_t token) {
  count(terminals(state).size());
  Closure closure(*this);
  for (const Terminal& terminal : terminals(state)) {
    if (terminal.rest != RegexPool::kNothing) continue;
    if (!grammar_->allows_token(places_[terminal.place].next().id, token)) continue;
    closure.reach(terminal.place + 1, terminal.continuation);
  }
  return closure.finish();
}

StateId Matcher::either(StateId a, StateId b) {
  if (a == b || b == kDead) return a;
  if (a == kDead) return b;
  Closure closure(*this);
  for (const StateId state : {a, b}) {
    count(terminals(state).size());
    for (const Terminal& terminal : terminals(state)) closure.go_on(terminal);
    if (can_end(state)) closure.set_can_end();
  }
  return closure.finish();
}

StateId Matcher::after(const Terminal& terminal) {
  const uint64_t key = pair_key(terminal.place, terminal.continuation);
  if (const uint32_t* known = after_.find(key)) return *known;
  Closure closure(*this);
  closure.reach(terminal.place + 1, terminal.continuation);
  const StateId state = closure.finish();
  after_.insert(key, state);
  return state;
}

std::optional<uint8_t> Matcher::only_byte(StateId state) {
  if (can_end(state)) return std::nullopt;
  ByteSet bytes;
  RegexPool& regexes = grammar_->regexes();
  for (size_t i = 0; i < states_[state].size; ++i) {
    const Terminal terminal = terminals(state)[i];
    if (terminal.rest == RegexPool::kNothing) return std::nullopt;
    bytes = bytes | regexes.first_bytes(terminal.rest);
    if (bytes.size() > 1) return std::nullopt;
  }
  for (size_t w = 0; w < 4; ++w) {
    if (bytes.words()[w] != 0)
      return static_cast<uint8_t>(64 * w + static_cast<size_t>(std::countr_zero(bytes.words()[w])));
  }
  return std::nullopt;
}

}  // namespace pippin::constrain
