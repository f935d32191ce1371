#include "pippin/constrain/gbnf/gbnf.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/gbnf/gbnf_syntax.h"
#include "pippin/constrain/patterns/json_text.h"

namespace pippin::constrain {

namespace {

using GbnfKind = GbnfNode::Kind;
constexpr uint32_t kUnbounded = UINT32_MAX;
// Limit for the parts of an expression; larger rules stay rules. JSON's strings have about 20.
constexpr size_t kLargeExpression = 60;
constexpr size_t kTooLarge = SIZE_MAX;

class GbnfWriter {
 public:
  GbnfWriter(Grammar& grammar, std::vector<GbnfRule> rules, const GbnfOptions& options)
      : grammar_(grammar),
        options_(options),
        rules_(std::move(rules)),
        sizes_(rules_.size()),
        states_(rules_.size()),
        nullable_(rules_.size()) {}

  Symbol root() {
    const auto it = std::find_if(rules_.begin(), rules_.end(),
                                 [&](const GbnfRule& rule) { return rule.name == options_.root; });
    if (it == rules_.end())
      fail(ErrorCode::InvalidArgument, "grammar: no rule \"{}\"", options_.root);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t r = 0; r < rules_.size(); ++r) {
        if (!nullable_[r] && is_nullable(rules_[r].body)) nullable_[r] = changed = true;
      }
    }
    return rule(static_cast<size_t>(it - rules_.begin()));
  }

 private:
  // Returns the size of the expression; kTooLarge if it is recursive or contains tokens.
  size_t size_of(const GbnfNode& node) {
    grammar_.regexes().work().count();
    size_t size = 1 + node.text.size() / 8;
    switch (node.kind) {
      case GbnfKind::Token:
        return kTooLarge;
      case GbnfKind::Rule:
        return rule_size(node.rule);
      default:
        break;
    }
    for (const GbnfNode& part : node.parts) {
      const size_t one = size_of(part);
      if (one == kTooLarge) return kTooLarge;
      size += one;
    }
    return size;
  }
  size_t rule_size(size_t index) {
    enum : uint8_t { New, Open, Known };
    if (states_[index] == Known) return sizes_[index];
    if (states_[index] == Open) return kTooLarge;  // recursion
    if (++depth_ > 1000)
      fail(ErrorCode::LimitExceeded, "grammar: rules refer to each other more than 1000 deep");
    states_[index] = Open;
    const size_t size = size_of(rules_[index].body);
    states_[index] = Known;
    --depth_;
    // A rule in a cycle through an open rule is too large, too.
    return sizes_[index] = size > kLargeExpression ? kTooLarge : size;
  }

  bool is_nullable(const GbnfNode& node) {
    grammar_.regexes().work().count();
    switch (node.kind) {
      case GbnfKind::Text:
        return node.text.empty();
      case GbnfKind::Class:
      case GbnfKind::Token:
        return false;
      case GbnfKind::Rule:
        return nullable_[node.rule];
      case GbnfKind::Series:
        return ranges::all_of(node.parts, [&](const GbnfNode& part) { return is_nullable(part); });
      case GbnfKind::Choice:
        return ranges::any_of(node.parts, [&](const GbnfNode& part) { return is_nullable(part); });
      case GbnfKind::Repeat:
        return node.least == 0 || is_nullable(node.parts[0]);
    }
    return false;
  }

  RegexId regex(const GbnfNode& node) {
    RegexPool& pool = grammar_.regexes();
    switch (node.kind) {
      case GbnfKind::Text:
        return pool.literal(node.text);
      case GbnfKind::Class:
        return character(pool, node.set, Writing::Utf8);
      case GbnfKind::Rule: {
        const auto it = expressions_.find(node.rule);
        if (it != expressions_.end()) return it->second;
        const RegexId made = regex(rules_[node.rule].body);
        expressions_.emplace(node.rule, made);
        return made;
      }
      case GbnfKind::Repeat:
        return pool.repeat(regex(node.parts[0]), node.least,
                           node.most == kUnbounded ? RegexPool::kUnlimited : node.most);
      default:
        break;
    }
    std::vector<RegexId> parts;
    for (const GbnfNode& part : node.parts) parts.push_back(regex(part));
    return node.kind == GbnfKind::Choice ? pool.any_of(parts) : pool.concat(parts);
  }

  bool is_expression(const GbnfNode& node) { return size_of(node) <= kLargeExpression; }

  Symbol rule(size_t index) {
    if (rule_size(index) <= kLargeExpression)
      return Symbol::regex(regex({.kind = GbnfKind::Rule, .rule = index}));
    if (const auto it = made_.find(index); it != made_.end()) return Symbol::rule(it->second);
    const RuleId id = grammar_.add_rule(rules_[index].name);
    made_.emplace(index, id);
    pending_.push_back({id, &rules_[index].body, false});
    work();
    return Symbol::rule(id);
  }

  // Returns the rule without the empty text.
  Symbol nonempty_rule(size_t index) {
    if (const auto it = made_nonempty_.find(index); it != made_nonempty_.end())
      return Symbol::rule(it->second);
    const RuleId id = grammar_.add_rule(rules_[index].name);
    made_nonempty_.emplace(index, id);
    pending_.push_back({id, &rules_[index].body, true});
    work();
    return Symbol::rule(id);
  }

  // Makes rules iteratively rather than recursively, because chains of them may be long.
  void work() {
    if (is_working_) return;
    is_working_ = true;
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      const GbnfNode body = next.nonempty ? nonempty(*next.body) : *next.body;
      add_alternatives(next.rule, body);
    }
    is_working_ = false;
  }

  void add_alternatives(RuleId id, const GbnfNode& body) {
    if (body.kind != GbnfKind::Choice) {
      grammar_.add_alternative(id, sequence(body));
      return;
    }
    for (const GbnfNode& part : body.parts) grammar_.add_alternative(id, sequence(part));
  }

  Sequence sequence(const GbnfNode& node) {
    if (node.kind != GbnfKind::Series) return {symbol(node)};
    Sequence result;
    // Small neighbours become one expression.
    RegexId joined = RegexPool::kEmpty;
    size_t joined_size = 0;
    const auto flush = [&] {
      if (joined != RegexPool::kEmpty) result.push_back(Symbol::regex(joined));
      joined = RegexPool::kEmpty;
      joined_size = 0;
    };
    for (const GbnfNode& part : node.parts) {
      const size_t size = size_of(part);
      if (size > kLargeExpression) {
        flush();
        result.push_back(symbol(part));
        continue;
      }
      if (joined_size + size > kLargeExpression) flush();
      joined = grammar_.regexes().concat(joined, regex(part));
      joined_size += size;
    }
    flush();
    return result;
  }

  Symbol symbol(const GbnfNode& node) {
    if (is_expression(node)) return Symbol::regex(regex(node));
    switch (node.kind) {
      case GbnfKind::Rule:
        return node.negated ? nonempty_rule(node.rule) : rule(node.rule);
      case GbnfKind::Token:
        return token(node);
      case GbnfKind::Repeat:
        return repeat(node);
      default:
        break;
    }
    const RuleId id = grammar_.add_rule("group");
    add_alternatives(id, node);
    return Symbol::rule(id);
  }

  Symbol token(const GbnfNode& node) {
    int32_t id = node.token;
    if (id < 0) {
      const std::optional<int32_t> found =
          options_.token_of ? options_.token_of(node.text) : std::nullopt;
      if (!found.has_value()) {
        fail(ErrorCode::InvalidArgument,
             "grammar, line {}, column {}: {} is not one token of this model", node.line,
             node.column, node.text);
      }
      id = *found;
    }
    return grammar_.add_tokens({id}, node.negated);
  }

  // r ::= x x ... as a chain of rules: one per count up to the bound, then a loop.
  Symbol repeat(const GbnfNode& node) {
    constexpr uint32_t kMostRules = 10'000;
    GbnfNode inner = node.parts[0];
    uint32_t least = node.least;
    if (is_nullable(inner)) {
      inner = nonempty(inner);
      least = 0;
    }
    const uint32_t steps = node.most == kUnbounded ? least : node.most;
    if (steps > kMostRules)
      fail(ErrorCode::LimitExceeded, "grammar: a repetition of {} times takes more than {} rules",
           steps, kMostRules);
    const Symbol item = symbol(inner);
    RuleId next = grammar_.add_rule("repeat");
    grammar_.add_alternative(next, {});
    if (node.most == kUnbounded) grammar_.add_alternative(next, {item, Symbol::rule(next)});
    for (uint32_t done = steps; done-- > 0;) {
      const RuleId one = grammar_.add_rule("repeat");
      if (done >= least) grammar_.add_alternative(one, {});
      grammar_.add_alternative(one, {item, Symbol::rule(next)});
      next = one;
    }
    return Symbol::rule(next);
  }

  // Returns a node with the same texts except the empty one: one alternative for each part that may
  // be the first with text.
  GbnfNode nonempty(const GbnfNode& node) {
    if (!is_nullable(node)) return node;
    GbnfNode result{.kind = GbnfKind::Choice};
    switch (node.kind) {
      case GbnfKind::Rule: {
        GbnfNode copy = node;
        if (rule_size(node.rule) <= kLargeExpression) return nonempty(rules_[node.rule].body);
        copy.negated = true;
        return copy;
      }
      case GbnfKind::Choice:
        for (const GbnfNode& part : node.parts) result.parts.push_back(nonempty(part));
        return result;
      case GbnfKind::Repeat: {
        GbnfNode sequence{.kind = GbnfKind::Series};
        GbnfNode rest = node;
        rest.least = rest.least == 0 ? 0 : rest.least - 1;
        if (rest.most != kUnbounded) rest.most = rest.most == 0 ? 0 : rest.most - 1;
        if (node.most == 0) return result;
        if (is_nullable(node.parts[0])) rest.least = 0;
        sequence.parts.push_back(nonempty(node.parts[0]));
        sequence.parts.push_back(std::move(rest));
        return sequence;
      }
      case GbnfKind::Series:
        for (size_t i = 0; i < node.parts.size(); ++i) {
          GbnfNode sequence{.kind = GbnfKind::Series};
          sequence.parts.push_back(nonempty(node.parts[i]));
          sequence.parts.insert(sequence.parts.end(),
                                node.parts.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                node.parts.end());
          result.parts.push_back(std::move(sequence));
          if (!is_nullable(node.parts[i])) break;
        }
        return result;
      default:
        return result;  // only the empty text: no alternatives
    }
  }

  struct Pending {
    RuleId rule;
    const GbnfNode* body;
    bool nonempty;
  };

  Grammar& grammar_;
  const GbnfOptions& options_;
  std::vector<GbnfRule> rules_;
  std::vector<size_t> sizes_;
  std::vector<uint8_t> states_;
  std::vector<bool> nullable_;
  std::map<size_t, RegexId> expressions_;
  std::map<size_t, RuleId> made_, made_nonempty_;
  std::vector<Pending> pending_;
  bool is_working_ = false;
  int depth_ = 0;
};

}  // namespace

Symbol add_gbnf(Grammar& grammar, std::string_view text, const GbnfOptions& options) {
  return GbnfWriter(grammar, parse_gbnf(text), options).root();
}

}  // namespace pippin::constrain
