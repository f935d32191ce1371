#include "pippin/tokenizers/regex/regex_class.h"

#include <optional>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::tokenizers {
namespace {

constexpr int kMaxNesting = 200;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class ClassReader {
 public:
  ClassReader(RegexReader& in, const AsciiTypes& ascii, int depth)
      : in_(in), ascii_(ascii), depth_(depth) {}

  BracketClass run() {
    if (depth_ > kMaxNesting) in_.refuse("a class nested that deep");
    BracketClass result;
    result.negated = in_.take("^");
    if (in_.peek() == ']') {
      // A literal ']' if another one ends the class.
      if (in_.rest().find(']', 1) == std::string_view::npos) in_.refuse("an empty class");
      in_.take("]");
      character(']');
    }
    while (!in_.take("]")) {
      if (in_.at_end()) in_.refuse("a class without an end");
      if (in_.take("&&")) {
        intersect();
      } else {
        member();
      }
    }
    intersect();
    result.set = *all_;
    return result;
  }

 private:
  // The kind of the last member, which decides the meaning of a '-' after it.
  enum class Last { Nothing, Character, Type, Whole };

  void member() {
    if (in_.take("[")) {
      if (!posix()) nested();
    } else if (in_.take("-")) {
      dash();
    } else if (in_.take("\\")) {
      if (auto escape = in_.take_set_escape()) {
        const CharacterSet set = limited(escape->set, escape->type, ascii_);
        add(escape->negated ? set.complement() : set, Last::Type);
      } else {
        character(in_.take_escaped_character());
      }
    } else {
      character(in_.take_character());
    }
  }

  // A range between its neighbours, or a literal member.
  void dash() {
    const bool ends = in_.peek() == ']' || in_.rest().starts_with("&&");
    if (last_ == Last::Nothing || last_ == Last::Whole || ends) {
      character('-');
    } else if (last_ == Last::Type) {
      in_.refuse("'-' after a set inside a class");
    } else {
      range();
    }
  }

  void range() {
    const bool escaped = in_.take("\\");
    if (!escaped && in_.peek() == '[') in_.refuse("a range that ends in a set");
    if (in_.at_end()) in_.refuse("a class without an end");
    if (escaped && in_.take_set_escape()) in_.refuse("a range that ends in a set");
    const char32_t last = escaped ? in_.take_escaped_character() : in_.take_character();
    if (last < character_) in_.refuse("a range that ends before it begins");
    ranges_.push_back({character_, last});
    last_ = Last::Whole;
  }

  // After "[": parses a name between colons. Returns false if none exists.
  bool posix() {
    RegexReader ahead = in_;
    if (!ahead.take(":")) return false;
    const bool negated = ahead.take("^");
    const std::string_view rest = ahead.rest();
    size_t size = 0;
    while (size < rest.size() && is_letter(rest[size])) ++size;
    const std::string_view name = rest.substr(0, size);
    if (!ahead.take(name) || !ahead.take(":]")) return false;
    in_ = ahead;
    const auto type = type_named(name);
    if (!type) in_.refuse(fmt::format("the name [:{}:]", name));
    const CharacterSet set = limited(set_of(*type), type, ascii_);
    add(negated ? set.complement() : set, Last::Type);
    return true;
  }

  void nested() {
    const BracketClass inner = take_class(in_, ascii_, depth_ + 1);
    add(inner.negated ? inner.set.complement() : inner.set, Last::Whole);
  }

  void character(char32_t c) {
    character_ = c;
    ranges_.push_back({c, c});
    last_ = Last::Character;
  }

  void add(const CharacterSet& set, Last kind) {
    here_ = here_ | set;
    last_ = kind;
  }

  void intersect() {
    here_ = here_ | CharacterSet(sorted(std::exchange(ranges_, {})));
    all_ = all_ ? *all_ & here_ : here_;
    here_ = {};
    last_ = Last::Nothing;
  }

  RegexReader& in_;
  const AsciiTypes& ascii_;
  const int depth_;
  std::optional<CharacterSet> all_;  // before the last &&
  CharacterSet here_;                // after the last &&, with
  CodePoints ranges_;
  Last last_ = Last::Nothing;
  char32_t character_ = 0;
};

}  // namespace

BracketClass take_class(RegexReader& in, const AsciiTypes& ascii, int depth) {
  return ClassReader(in, ascii, depth).run();
}

}  // namespace pippin::tokenizers
