#include "pippin/constrain/gbnf/gbnf_syntax.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/constrain/utf8.h"

namespace pippin::constrain {

namespace {

using GbnfKind = GbnfNode::Kind;
constexpr int kMostGroups = 300;
constexpr uint32_t kNoLimitOfTimes = UINT32_MAX;

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : in_(text) {}

  std::vector<GbnfRule> parse() {
    skip(true);
    while (!at_end()) {
      rule();
      skip(true);
    }
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (!is_defined_[i]) {
        fail(ErrorCode::InvalidArgument,
             "grammar, line {}, column {}: the rule \"{}\" is not defined", used_at_[i].first,
             used_at_[i].second, rules_[i].name);
      }
    }
    if (rules_.empty()) fail(ErrorCode::InvalidArgument, "grammar: no rules");
    return std::move(rules_);
  }

 private:
  bool at_end() const { return i_ >= in_.size(); }
  char peek(size_t ahead = 0) const { return i_ + ahead < in_.size() ? in_[i_ + ahead] : '\0'; }
  bool take(std::string_view text) {
    if (!in_.substr(i_).starts_with(text)) return false;
    i_ += text.size();
    return true;
  }
  std::pair<size_t, size_t> place() const {
    const std::string_view before = in_.substr(0, i_);
    const size_t line = before.rfind('\n');
    return {static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
            i_ - (line == std::string_view::npos ? 0 : line + 1) + 1};
  }
  [[noreturn]] void invalid(std::string_view what) const {
    const auto [line, column] = place();
    fail(ErrorCode::InvalidArgument, "grammar, line {}, column {}: {}", line, column, what);
  }

  // Skips blanks and comments, and line breaks that do not end a rule.
  void skip(bool lines) {
    while (!at_end()) {
      if (peek() == ' ' || peek() == '\t' || (lines && (peek() == '\n' || peek() == '\r'))) {
        ++i_;
      } else if (peek() == '#') {
        while (!at_end() && peek() != '\n' && peek() != '\r') ++i_;
      } else {
        return;
      }
    }
  }

  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  }
  std::string_view name() {
    const size_t begin = i_;
    while (is_name(peek())) ++i_;
    return in_.substr(begin, i_ - begin);
  }
  size_t rule_index(std::string_view name) {
    const auto [it, is_new] = indices_.emplace(name, rules_.size());
    if (is_new) {
      rules_.push_back({std::string(name), {}});
      is_defined_.push_back(false);
      used_at_.push_back(place());
    }
    return it->second;
  }

  void rule() {
    const std::string_view called = name();
    if (called.empty()) invalid("expected the name of a rule");
    const size_t index = rule_index(called);
    if (is_defined_[index]) invalid("the rule \"" + std::string(called) + "\" is defined twice");
    skip(false);
    if (!take("::=")) invalid("expected ::= after the name of a rule");
    skip(true);
    rules_[index].body = choice(0);
    is_defined_[index] = true;
    if (!at_end() && peek() != '\n' && peek() != '\r')
      invalid("expected a line's end after a rule");
  }

  GbnfNode choice(int depth) {
    if (depth > kMostGroups)
      fail(ErrorCode::LimitExceeded, "grammar: groups are nested more than {} deep", kMostGroups);
    GbnfNode node{.kind = GbnfKind::Choice};
    node.parts.push_back(sequence(depth));
    while (take("|")) {
      skip(true);
      node.parts.push_back(sequence(depth));
    }
    return node.parts.size() == 1 ? std::move(node.parts[0]) : node;
  }

  GbnfNode sequence(int depth) {
    GbnfNode node{.kind = GbnfKind::Series};
    while (true) {
      std::optional<GbnfNode> item = one(depth);
      if (!item.has_value()) return node;
      skip(depth > 0);
      while (std::optional<std::pair<uint32_t, uint32_t>> times = repetition()) {
        GbnfNode repeat{.kind = GbnfKind::Repeat, .least = times->first, .most = times->second};
        repeat.parts.push_back(std::move(*item));
        item = std::move(repeat);
        skip(depth > 0);
      }
      node.parts.push_back(std::move(*item));
    }
  }

  uint32_t number() {
    if (peek() < '0' || peek() > '9') invalid("expected a number");
    uint64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = 10 * value + static_cast<uint64_t>(in_[i_++] - '0');
      if (value > 1'000'000)
        fail(ErrorCode::LimitExceeded, "grammar: a repetition of more than 1000000 times");
    }
    return static_cast<uint32_t>(value);
  }

  std::optional<std::pair<uint32_t, uint32_t>> repetition() {
    if (take("*")) return std::pair{0U, kNoLimitOfTimes};
    if (take("+")) return std::pair{1U, kNoLimitOfTimes};
    if (take("?")) return std::pair{0U, 1U};
    if (!take("{")) return std::nullopt;
    skip(false);
    const uint32_t least = number();
    uint32_t most = least;
    skip(false);
    if (take(",")) {
      skip(false);
      most = peek() == '}' ? kNoLimitOfTimes : number();
      skip(false);
    }
    if (!take("}")) invalid("expected } behind a repetition");
    if (least > most) invalid("a repetition's bounds are out of order");
    return std::pair{least, most};
  }

  std::optional<GbnfNode> one(int depth) {
    switch (peek()) {
      case '"':
        return literal();
      case '[':
        return bracket();
      case '.':
        ++i_;
        return GbnfNode{.kind = GbnfKind::Class, .set = {{0, tokenizers::kLastCodePoint}}};
      case '(': {
        ++i_;
        skip(true);
        GbnfNode inner = choice(depth + 1);
        if (!take(")")) invalid("a \"(\" is not closed");
        return inner;
      }
      case '<':
      case '!':
        return token();
      default:
        break;
    }
    if (!is_name(peek())) return std::nullopt;
    const size_t index = rule_index(name());
    return GbnfNode{.kind = GbnfKind::Rule, .rule = index};
  }

  char32_t hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i, ++i_) {
      const char c = peek();
      if (c >= '0' && c <= '9') {
        value = 16 * value + static_cast<char32_t>(c - '0');
      } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
        value = 16 * value + static_cast<char32_t>((c | 0x20) - 'a' + 10);
      } else {
        invalid("an escape lacks hexadecimal digits");
      }
    }
    if (value > tokenizers::kLastCodePoint) invalid("an escape is not a character");
    return value;
  }

  char32_t character() {
    if (!take("\\")) {
      const size_t length = utf8_length(in_.substr(i_));
      if (length == 0) invalid("that is not UTF-8");
      const char32_t c = utf8_decode(in_.substr(i_), length);
      i_ += length;
      return c;
    }
    const char c = peek();
    ++i_;
    switch (c) {
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'U':
        return hex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      default:
        --i_;
        invalid("an unknown escape");
    }
  }

  GbnfNode literal() {
    ++i_;
    GbnfNode node{.kind = GbnfKind::Series};
    std::string plain;
    const auto flush = [&] {
      if (!plain.empty())
        node.parts.push_back({.kind = GbnfKind::Text, .text = std::exchange(plain, {})});
    };
    while (!take("\"")) {
      if (at_end() || peek() == '\n') invalid("a literal is not closed");
      if (peek() != '\\') {
        const size_t length = utf8_length(in_.substr(i_));
        if (length == 0) invalid("that is not UTF-8");
        plain += in_.substr(i_, length);
        i_ += length;
        continue;
      }
      const char32_t c = character();
      flush();
      node.parts.push_back({.kind = GbnfKind::Class, .set = {{c, c}}});
    }
    flush();
    return node.parts.size() == 1 ? std::move(node.parts[0]) : node;
  }

  GbnfNode bracket() {
    ++i_;
    const bool negated = take("^");
    tokenizers::CodePoints set;
    while (!take("]")) {
      if (at_end() || peek() == '\n') invalid("a character class is not closed");
      const char32_t first = character();
      char32_t last = first;
      if (peek() == '-' && peek(1) != ']') {
        ++i_;
        if (at_end()) invalid("a character class is not closed");
        last = character();
        if (last < first) invalid("a range of characters is out of order");
      }
      set.push_back({first, last});
    }
    set = tokenizers::sorted(std::move(set));
    return {.kind = GbnfKind::Class, .set = negated ? tokenizers::complement(set) : std::move(set)};
  }

  GbnfNode token() {
    GbnfNode node{.kind = GbnfKind::Token};
    std::tie(node.line, node.column) = place();
    node.negated = take("!");
    if (take("<[")) {
      node.token = static_cast<int32_t>(number());
      if (!take("]>")) invalid("expected ]> behind the number of a token");
      return node;
    }
    const size_t begin = i_;
    if (!take("<")) invalid("expected a token behind !");
    while (!at_end() && peek() != '>' && peek() != '\n') ++i_;
    if (!take(">")) invalid("a token is not closed");
    node.text = in_.substr(begin, i_ - begin);
    return node;
  }

  std::string_view in_;
  size_t i_ = 0;
  std::vector<GbnfRule> rules_;
  std::vector<bool> is_defined_;
  std::vector<std::pair<size_t, size_t>> used_at_;
  std::map<std::string, size_t, std::less<>> indices_;
};

}  // namespace

std::vector<GbnfRule> parse_gbnf(std::string_view text) {
  return GbnfParser(text).parse();
}

}  // namespace pippin::constrain
