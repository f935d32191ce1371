#include "pippin/constrain/grammar.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"

namespace pippin::constrain {

Grammar::Grammar(const GrammarLimits& limits) : limits_(limits), regexes_(limits.regexes) {}

void Grammar::count(const Sequence& sequence) {
  regexes_.work().count(sequence.size() + 1);
  num_symbols_ += sequence.size() + 1;
  if (num_symbols_ > limits_.max_symbols) {
    fail(ErrorCode::LimitExceeded, "a grammar has more than {} symbols", limits_.max_symbols);
  }
}

RuleId Grammar::add_rule(std::string name) {
  if (rules_.size() >= limits_.max_rules) {
    fail(ErrorCode::LimitExceeded, "a grammar has more than {} rules", limits_.max_rules);
  }
  rules_.emplace_back().name = std::move(name);
  return static_cast<RuleId>(rules_.size() - 1);
}

void Grammar::add_alternative(RuleId rule, Sequence sequence) {
  count(sequence);
  rules_[rule].alternatives.push_back(std::move(sequence));
}

RuleId Grammar::add_lazy_rule(std::string name, bool nullable, std::function<Alternatives()> make) {
  const RuleId rule = add_rule(std::move(name));
  rules_[rule].nullable = nullable;
  rules_[rule].make = std::move(make);
  return rule;
}

Symbol Grammar::add_tokens(std::vector<int32_t> ids, bool negated) {
  ranges::sort(ids);
  token_sets_.push_back({std::move(ids), negated});
  return {Symbol::Kind::Tokens, static_cast<uint32_t>(token_sets_.size() - 1)};
}

bool Grammar::allows_token(uint32_t tokens, int32_t id) const {
  const TokenSet& set = token_sets_[tokens];
  return ranges::binary_search(set.ids, id) != set.negated;
}

bool Grammar::is_nullable(const Symbol& symbol) const {
  switch (symbol.kind) {
    case Symbol::Kind::Regex:
      return regexes_.is_nullable(symbol.id);
    case Symbol::Kind::Rule:
      return rules_[symbol.id].nullable;
    case Symbol::Kind::Tokens:
      return false;
  }
  return false;
}

template <typename Holds>
std::vector<bool> Grammar::least_fixpoint(const Holds& holds) {
  Work& work = regexes_.work();
  struct Waiting {
    RuleId rule;
    size_t missing;  // symbols that do not hold yet
  };
  std::vector<bool> result(rules_.size());
  std::vector<Waiting> waiting;
  std::vector<std::vector<size_t>> users(rules_.size());  // by rule: indices into `waiting`
  std::vector<RuleId> fresh;
  const auto add = [&](RuleId rule) {
    if (result[rule]) return;
    result[rule] = true;
    fresh.push_back(rule);
  };
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    if (rules_[rule].make != nullptr) {
      if (holds(Symbol::rule(rule))) add(rule);
      continue;
    }
    for (const Sequence& sequence : rules_[rule].alternatives) {
      work.count(sequence.size() + 1);
      size_t missing = 0;
      bool never = false;
      for (const Symbol& symbol : sequence) {
        if (symbol.kind == Symbol::Kind::Rule) {
          ++missing;
          users[symbol.id].push_back(waiting.size());
        } else if (!holds(symbol)) {
          never = true;
        }
      }
      waiting.push_back({rule, never ? SIZE_MAX : missing});
      if (!never && missing == 0) add(rule);
    }
  }
  while (!fresh.empty()) {
    const RuleId rule = fresh.back();
    fresh.pop_back();
    for (const size_t i : users[rule]) {
      if (waiting[i].missing != SIZE_MAX && --waiting[i].missing == 0) add(waiting[i].rule);
    }
  }
  return result;
}

void Grammar::find_nullable() {
  const std::vector<bool> nullable =
      least_fixpoint([&](const Symbol& symbol) { return is_nullable(symbol); });
  for (RuleId rule = 0; rule < rules_.size(); ++rule) rules_[rule].nullable = nullable[rule];
}

void Grammar::drop_unproductive() {
  const std::vector<bool> productive = least_fixpoint([&](const Symbol& symbol) {
    return symbol.kind != Symbol::Kind::Regex || !regexes_.is_nothing(symbol.id);
  });
  const auto has_text = [&](const Symbol& symbol) {
    if (symbol.kind == Symbol::Kind::Rule) return static_cast<bool>(productive[symbol.id]);
    return symbol.kind != Symbol::Kind::Regex || !regexes_.is_nothing(symbol.id);
  };
  for (Rule& rule : rules_) {
    std::erase_if(rule.alternatives,
                  [&](const Sequence& sequence) { return !ranges::all_of(sequence, has_text); });
  }
  if (!productive[root_]) {
    fail(ErrorCode::InvalidArgument, "the grammar has no text: \"{}\" can never end",
         rules_[root_].name);
  }
}

std::vector<RuleId> Grammar::begins_with(RuleId rule) {
  regexes_.work().count();
  std::vector<RuleId> rules;
  for (const Sequence& sequence : alternatives(rule)) {
    for (const Symbol& symbol : sequence) {
      regexes_.work().count();
      if (symbol.kind == Symbol::Kind::Rule) rules.push_back(symbol.id);
      if (!is_nullable(symbol)) break;
    }
  }
  return rules;
}

uint32_t Grammar::height(RuleId asked) {
  if (rules_[asked].height != 0) return rules_[asked].height;
  constexpr uint32_t kOpen = UINT32_MAX;
  struct Visit {
    RuleId rule;
    std::vector<RuleId> below;
    size_t next = 0;
  };
  std::vector<Visit> path;
  const auto open = [&](RuleId rule) {
    std::vector<RuleId> below = begins_with(rule);
    rules_[rule].height = kOpen;
    path.push_back({rule, std::move(below)});
  };
  try {
    open(asked);
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next < visit.below.size()) {
        const RuleId below = visit.below[visit.next++];
        const uint32_t known = rules_[below].height;
        if (known == kOpen) {
          fail(ErrorCode::InvalidArgument,
               "rule \"{}\" of the grammar begins with itself (left recursion)",
               rules_[below].name);
        }
        if (known == 0) open(below);
        continue;
      }
      uint32_t height = 1;
      for (const RuleId below : visit.below) height = std::max(height, rules_[below].height + 1);
      rules_[visit.rule].height = height;
      path.pop_back();
    }
  } catch (...) {
    for (const Visit& visit : path) rules_[visit.rule].height = 0;
    throw;
  }
  return rules_[asked].height;
}

const Grammar::Alternatives& Grammar::alternatives(RuleId id) {
  Rule& rule = rules_[id];
  if (rule.make != nullptr) {
    // If this throws, the next call makes them again.
    Alternatives made = rule.make();
    for (const Sequence& sequence : made) count(sequence);
    rule.alternatives = std::move(made);
    rule.make = nullptr;
  }
  return rule.alternatives;
}

void Grammar::finish() {
  find_nullable();
  drop_unproductive();
  // Lazy rules are checked when they are made.
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    if (rules_[rule].make == nullptr) height(rule);
  }
}

}  // namespace pippin::constrain
