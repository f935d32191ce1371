#include "pippin/constrain/patterns/pattern_syntax.h"

#include <optional>
#include <string>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/constrain/utf8.h"
#include "pippin/tokenizers/unicode/case_folds.h"
#include "pippin/tokenizers/unicode/character_names.h"

namespace pippin::constrain {

using tokenizers::CodePoints;
using tokenizers::complement;

namespace {

using PatternKind = PatternNode::Kind;
constexpr int kMostPatternDepth = 500;

const CodePoints digit_set{{'0', '9'}};
const CodePoints word_set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CodePoints space_set{{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                           {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                           {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const CodePoints line_end_set{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

class PatternParser {
 public:
  PatternParser(std::string_view source, std::string_view place) : in_(source), place_(place) {}

  PatternNode parse() {
    PatternNode node = choice(0);
    if (!at_end()) invalid("there is a \")\" without a \"(\"");
    return node;
  }

 private:
  struct Flags {
    bool ignore_case = false, dot_is_all = false;
  };

  bool at_end() const { return i_ >= in_.size(); }
  char peek(size_t ahead = 0) const { return i_ + ahead < in_.size() ? in_[i_ + ahead] : '\0'; }
  bool take(std::string_view text) {
    if (!in_.substr(i_).starts_with(text)) return false;
    i_ += text.size();
    return true;
  }
  [[noreturn]] void invalid(std::string_view what) const {
    fail(ErrorCode::InvalidArgument, "{}: the pattern is broken at byte {}: {}", place_, i_, what);
  }
  [[noreturn]] void unsupported(std::string_view what) const {
    fail(ErrorCode::Unsupported, "{}: in the pattern, at byte {}, {} not supported", place_, i_,
         what);
  }

  char32_t character() {
    const size_t length = utf8_length(in_.substr(i_));
    if (length == 0) invalid("that is not UTF-8");
    const char32_t c = utf8_decode(in_.substr(i_), length);
    i_ += length;
    return c;
  }

  PatternNode one(CodePoints set) const {
    if (flags_.ignore_case) set = tokenizers::closed_under_case(set);
    return {.kind = PatternKind::Set, .set = std::move(set)};
  }

  PatternNode choice(int depth) {
    if (depth > kMostPatternDepth) {
      fail(ErrorCode::LimitExceeded, "{}: the pattern is nested more than {} deep", place_,
           kMostPatternDepth);
    }
    const Flags outer = flags_;
    PatternNode node{.kind = PatternKind::Choice};
    do {
      node.parts.push_back(sequence(depth));
    } while (take("|"));
    flags_ = outer;
    return node.parts.size() == 1 ? std::move(node.parts[0]) : node;
  }

  PatternNode sequence(int depth) {
    PatternNode node{.kind = PatternKind::Sequence};
    while (!at_end() && peek() != '|' && peek() != ')') {
      std::optional<PatternNode> term = atom(depth);
      if (term.has_value()) node.parts.push_back(quantified(std::move(*term)));
    }
    return node;
  }

  std::optional<uint32_t> number() {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    uint64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = 10 * value + static_cast<uint64_t>(in_[i_++] - '0');
      if (value >= kNoLimit)
        fail(ErrorCode::LimitExceeded, "{}: a pattern repeats {} times or more", place_, kNoLimit);
    }
    return static_cast<uint32_t>(value);
  }

  // Parses {n}, {n,} or {n,m}; any other brace is a literal character.
  std::optional<std::pair<uint32_t, uint32_t>> braces() {
    const size_t begin = i_;
    if (take("{")) {
      if (const auto least = number()) {
        uint32_t most = *least;
        if (take(",")) most = number().value_or(kNoLimit);
        if (take("}")) return std::pair{*least, most};
      }
    }
    i_ = begin;
    return std::nullopt;
  }

  PatternNode quantified(PatternNode term) {
    for (bool is_first = true;; is_first = false) {
      std::pair<uint32_t, uint32_t> bounds;
      if (take("*")) {
        bounds = {0, kNoLimit};
      } else if (take("+")) {
        bounds = {1, kNoLimit};
      } else if (take("?")) {
        bounds = {0, 1};
      } else if (const auto given = braces()) {
        bounds = *given;
      } else {
        return term;
      }
      if (!is_first) invalid("there is nothing to repeat");
      if (bounds.first > bounds.second) invalid("a repetition's bounds are out of order");
      take("?");  // lazy
      if (peek() == '+') unsupported("possessive quantifiers are");
      PatternNode node{.kind = PatternKind::Repeat, .least = bounds.first, .most = bounds.second};
      node.parts.push_back(std::move(term));
      term = std::move(node);
    }
  }

  std::optional<PatternNode> atom(int depth) {
    switch (peek()) {
      case '(':
        return group(depth);
      case '[':
        ++i_;
        return one(bracket());
      case '.':
        ++i_;
        return PatternNode{.kind = PatternKind::Set,
                           .set = flags_.dot_is_all ? CodePoints{{0, tokenizers::kLastCodePoint}}
                                                    : complement(line_end_set)};
      case '^':
        ++i_;
        return PatternNode{.kind = PatternKind::Begin};
      case '$':
        ++i_;
        return PatternNode{.kind = PatternKind::End};
      case '*':
      case '+':
      case '?':
        invalid("there is nothing to repeat");
      case '{':
        if (braces().has_value()) invalid("there is nothing to repeat");
        break;
      case '\\':
        return escape();
      default:
        break;
    }
    const char32_t c = character();
    return one({{c, c}});
  }

  std::optional<PatternNode> group(int depth) {
    ++i_;
    PatternKind kind = PatternKind::Sequence;
    const Flags outer = flags_;
    if (take("?")) {
      if (take("=")) {
        kind = PatternKind::Ahead;
      } else if (take("!")) {
        kind = PatternKind::NotAhead;
      } else if (take("<=") || take("<!")) {
        unsupported("lookbehind is");
      } else if (take(">")) {
        unsupported("atomic groups are");
      } else if (take("P<") || take("<")) {
        name();
      } else if (take("#")) {
        while (!at_end() && peek() != ')') ++i_;
        if (!take(")")) invalid("a comment does not end");
        return std::nullopt;
      } else if (peek() == 'P') {
        unsupported("backreferences are");
      } else if (!take(":")) {
        read_flags();
        if (take(")")) return std::nullopt;  // applies to the rest of the enclosing group
        if (!take(":")) invalid("a group of an unknown kind");
      }
    }
    PatternNode inner = choice(depth + 1);
    flags_ = outer;
    if (!take(")")) invalid("a \"(\" is not closed");
    if (kind == PatternKind::Sequence) return inner;
    PatternNode node{.kind = kind};
    node.parts.push_back(std::move(inner));
    return node;
  }

  void name() {
    const size_t end = in_.find('>', i_);
    if (end == std::string_view::npos || end == i_) invalid("a group's name does not end");
    i_ = end + 1;
  }

  void read_flags() {
    bool on = true;
    for (;; ++i_) {
      switch (peek()) {
        case '-':
          on = false;
          break;
        case 'i':
          flags_.ignore_case = on;
          break;
        case 's':
          flags_.dot_is_all = on;
          break;
        case 'u':
          break;
        case 'm':
        case 'x':
          if (on) unsupported(std::string("the flag \"") + peek() + "\" is");
          break;
        case ')':
        case ':':
          return;
        default:
          invalid("a group of an unknown kind");
      }
    }
  }

  std::optional<PatternNode> escape() {
    if (i_ + 1 >= in_.size()) invalid("it ends in a backslash");
    const char c = peek(1);
    if (c >= '1' && c <= '9') unsupported("backreferences are");
    switch (c) {
      case 'k':
        unsupported("backreferences are");
      case 'b':
        i_ += 2;
        return PatternNode{.kind = PatternKind::WordBoundary};
      case 'B':
        i_ += 2;
        return PatternNode{.kind = PatternKind::NoWordBoundary};
      case 'A':
        i_ += 2;
        return PatternNode{.kind = PatternKind::Begin};
      case 'z':
      case 'Z':
        i_ += 2;
        return PatternNode{.kind = PatternKind::End};
      default:
        break;
    }
    if (auto set = set_escape()) return one(std::move(*set));
    const char32_t value = escaped_character(false);
    return one({{value, value}});
  }

  // Parses \d \w \s \p{...} or their complements, starting at the backslash.
  std::optional<CodePoints> set_escape() {
    const char c = peek(1);
    const auto either = [&](const CodePoints& set, bool negated) {
      i_ += 2;
      return negated ? complement(set) : set;
    };
    switch (c) {
      case 'd':
      case 'D':
        return either(digit_set, c == 'D');
      case 'w':
      case 'W':
        return either(word_set, c == 'W');
      case 's':
      case 'S':
        return either(space_set, c == 'S');
      case 'p':
      case 'P':
        return property(c == 'P');
      default:
        return std::nullopt;
    }
  }

  CodePoints property(bool negated) {
    const size_t begin = i_ + 2;
    size_t end = begin + 1;
    std::string_view name = in_.substr(std::min(begin, in_.size()), 1);
    if (name == "{") {
      end = in_.find('}', begin);
      if (end == std::string_view::npos) invalid("a property's name does not end");
      name = in_.substr(begin + 1, end - begin - 1);
      ++end;
    }
    // Only the value of Script=Greek or General_Category=Lu matters.
    if (const size_t equals = name.find('='); equals != std::string_view::npos)
      name = name.substr(equals + 1);
    const auto known = tokenizers::property_named(name);
    if (!known.has_value())
      invalid("\"" + std::string(name) + "\" is not a property of characters");
    i_ = end;
    const CodePoints set = known->set.code_points();
    return negated ? complement(set) : set;
  }

  char32_t hex(size_t least, size_t most) {
    char32_t value = 0;
    size_t count = 0;
    for (; count < most; ++count, ++i_) {
      const char c = peek();
      char32_t digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<char32_t>(c - '0');
      } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
        digit = static_cast<char32_t>((c | 0x20) - 'a' + 10);
      } else {
        break;
      }
      value = 16 * value + digit;
    }
    if (count < least) invalid("an escape lacks hexadecimal digits");
    return value;
  }

  // Starts at the backslash.
  char32_t escaped_character(bool in_class) {
    ++i_;
    if (at_end()) invalid("it ends in a backslash");
    const char c = peek();
    if (static_cast<uint8_t>(c) >= 0x80) return character();
    ++i_;
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'v':
        return '\v';
      case 'f':
        return '\f';
      case 'r':
        return '\r';
      case 'a':
        return '\a';
      case 'e':
        return 0x1B;
      case '0':
        if (peek() >= '0' && peek() <= '9') unsupported("octal escapes are");
        return 0;
      case 'b':
        if (in_class) return '\b';
        break;
      case 'c': {
        const char letter = peek();
        if ((letter | 0x20) < 'a' || (letter | 0x20) > 'z') invalid("\\c takes a letter");
        ++i_;
        return static_cast<char32_t>(letter & 0x1F);
      }
      case 'x':
        if (take("{")) return braced();
        return hex(2, 2);
      case 'u': {
        if (take("{")) return braced();
        const char32_t high = hex(4, 4);
        if (high >= 0xD800 && high < 0xDC00 && peek() == '\\' && peek(1) == 'u' && peek(2) != '{') {
          const size_t begin = i_;
          i_ += 2;
          const char32_t low = hex(4, 4);
          if (low >= 0xDC00 && low < 0xE000)
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
          i_ = begin;
        }
        return high;
      }
      case 'U':
        return hex(8, 8);
      default:
        break;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9')) {
      --i_;
      invalid(std::string("\\") + c + " is not an escape");
    }
    return static_cast<char32_t>(c);
  }

  char32_t braced() {
    const char32_t value = hex(1, 7);
    if (!take("}") || value > tokenizers::kLastCodePoint) invalid("an escape is not a character");
    return value;
  }

  // Starts after the opening bracket.
  CodePoints bracket() {
    const bool negated = take("^");
    CodePoints set;
    while (true) {
      if (at_end()) invalid("a \"[\" is not closed");
      if (take("]")) break;
      if (peek() == '[' && peek(1) == ':') unsupported("named classes in brackets are");
      std::optional<char32_t> first;
      if (peek() == '\\') {
        if (auto inner = set_escape()) {
          set.insert(set.end(), inner->begin(), inner->end());
        } else {
          first = escaped_character(true);
        }
      } else {
        first = character();
      }
      if (!first.has_value()) continue;
      char32_t last = *first;
      if (peek() == '-' && peek(1) != ']' && i_ + 1 < in_.size()) {
        const size_t dash = i_++;
        if (peek() == '\\' && set_escape().has_value()) {
          i_ = dash;  // [a-\d]: the dash is literal
        } else {
          last = peek() == '\\' ? escaped_character(true) : character();
          if (last < *first) invalid("a range in brackets is out of order");
        }
      }
      set.push_back({*first, last});
    }
    set = tokenizers::sorted(std::move(set));
    if (flags_.ignore_case) set = tokenizers::closed_under_case(set);
    return negated ? complement(set) : set;
  }

  std::string_view in_, place_;
  size_t i_ = 0;
  Flags flags_;
};

}  // namespace

PatternNode parse_pattern(std::string_view source, std::string_view place) {
  return PatternParser(source, place).parse();
}

}  // namespace pippin::constrain
