#include "pippin/tokenizers/regex_syntax.h"

#include <cctype>
#include <optional>

#include "pippin/base/error.h"

namespace pippin::tokenizers {
namespace {

// As class members. PCRE2's \s has U+180E too, its \w has no marks and every kind of number.
constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc})";

constexpr std::string_view kCategories[] = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
    "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
    "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cn", "Co", "Any"};

struct LongName {
  std::string_view name;
  std::string_view category;
};
constexpr LongName kLongNames[] = {
    {"Letter", "L"},          {"Mark", "M"},
    {"Number", "N"},          {"Punctuation", "P"},
    {"Symbol", "S"},          {"Other", "C"},
    {"Separator", "Z"},       {"Uppercase_Letter", "Lu"},
    {"Decimal_Number", "Nd"}, {"Lowercase_Letter", "Ll"},
};

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view place) : in_(pattern), place_(place) {}

  std::string run() {
    while (i_ < in_.size()) {
      const char c = in_[i_];
      if (c == '\\') {
        escape(false);
        after_interval_ = false;
      } else if (c == '[') {
        character_class();
        after_interval_ = false;
      } else if (c == '(') {
        group();
        after_interval_ = false;
      } else if (c == '{') {
        interval();
      } else if (c == '+' && after_interval_) {
        refuse("'+' after an interval");  // repeats there, possessive here
      } else if (c == '?' && after_interval_ && fixed_interval_) {
        refuse("'?' after {n}");  // optional there, lazy here
      } else {
        out_ += c;
        ++i_;
        after_interval_ = false;
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::Unsupported, "{}: in a pattern, {} (at byte {}) is not supported", place_, what,
         i_);
  }
  char peek(size_t ahead) const { return i_ + ahead < in_.size() ? in_[i_ + ahead] : '\0'; }
  void emit(std::string_view text, bool in_class, bool negated = false) {
    if (in_class) {
      out_ += text;
    } else {
      out_ += negated ? "[^" : "[";
      out_ += text;
      out_ += ']';
    }
  }

  void escape(bool in_class) {
    const char c = peek(1);
    switch (c) {
      case '\0':
        refuse("a backslash at the end");
      case 's':
        emit(kSpace, in_class);
        break;
      case 'S':
        if (in_class) {
          out_ += R"(\S\x{180E})";
        } else {
          emit(kSpace, false, true);
        }
        break;
      case 'w':
        emit(kWord, in_class);
        break;
      case 'W':
        if (in_class) refuse(R"(\W in a class)");
        emit(kWord, false, true);
        break;
      case 'b':
      case 'B':
        if (in_class) refuse(R"(\b in a class)");
        word_boundary(c == 'b');
        break;
      case 'v':
        out_ += R"(\x0B)";
        break;
      case 'p':
      case 'P':
        property(c == 'P');
        return;
      case 'u':
        if (hex(2, 4).size() != 4) refuse(R"(\u without four digits)");
        out_ += fmt::format("\\x{{{}}}", hex(2, 4));
        i_ += 6;
        return;
      case 'x':
        hex_escape();
        return;
      case 'd':
      case 'D':
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        out_ += '\\';
        out_ += c;
        break;
      case 'A':
      case 'z':
      case 'Z':
        if (in_class) refuse("an anchor in a class");
        out_ += '\\';
        out_ += c;
        break;
      default:
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
          refuse(fmt::format("the escape \\{}", c));
        }
        out_ += '\\';
        if (static_cast<unsigned char>(c) >= 0x80) out_.pop_back();  // it escapes nothing
        out_ += c;
    }
    i_ += 2;
  }

  void word_boundary(bool positive) {
    const auto w = fmt::format("[{}]", kWord);
    out_ += positive ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", w)
                     : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", w);
  }

  std::string_view hex(size_t from, size_t most) const {
    size_t count = 0;
    while (count < most && std::isxdigit(static_cast<unsigned char>(peek(from + count))) != 0) {
      ++count;
    }
    return in_.substr(std::min(i_ + from, in_.size()), count);
  }

  void hex_escape() {
    if (peek(2) == '{') {
      const auto digits = hex(3, 8);
      if (digits.empty() || peek(3 + digits.size()) != '}') refuse(R"(this form of \x{})");
      out_ += in_.substr(i_, digits.size() + 4);
      i_ += digits.size() + 4;
      return;
    }
    const auto digits = hex(2, 2);
    // Above 7F it is a byte there and a code point here.
    if (digits.size() != 2 || digits[0] > '7') refuse(R"(this form of \x)");
    out_ += in_.substr(i_, 4);
    i_ += 4;
  }

  void property(bool negated) {
    const size_t close = in_.find('}', i_);
    if (peek(2) != '{' || close == std::string_view::npos) refuse(R"(\p without braces)");
    std::string_view name = in_.substr(i_ + 3, close - i_ - 3);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    for (const char c : name) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_')
        refuse("this property name");
    }
    std::string_view category;
    for (const auto known : kCategories) {
      if (name == known) category = known;
    }
    for (const auto& known : kLongNames) {
      if (name == known.name) category = known.category;
    }
    // A script's name alone would mean Script_Extensions here. What is no script does not compile.
    out_ += category.empty() ? fmt::format("\\{}{{sc:{}}}", negated ? 'P' : 'p', name)
                             : fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', category);
    i_ = close + 1;
  }

  // Sets inside sets are unions; PCRE2 has none, so their brackets are dropped.
  void character_class() {
    out_ += '[';
    ++i_;
    if (peek(0) == '^') {
      out_ += '^';
      ++i_;
    }
    if (peek(0) == ']') refuse("']' first in a class");
    for (int depth = 1; depth > 0;) {
      if (i_ >= in_.size()) refuse("a class without an end");
      const char c = in_[i_];
      if (c == '\\') {
        escape(true);
      } else if (c == '[') {
        const bool range = out_.back() == '-' && peek(1) != '\0';
        if (range || peek(1) == '^' || peek(1) == ':' || peek(1) == ']') {
          refuse("this set inside a class");
        }
        ++depth;
        ++i_;
      } else if (c == ']') {
        --depth;
        ++i_;
        if (depth > 0 && peek(0) == '-') refuse("'-' after a set inside a class");
      } else if (c == '&' && peek(1) == '&') {
        refuse("'&&' in a class");
      } else {
        out_ += c;
        ++i_;
      }
    }
    out_ += ']';
  }

  void group() {
    if (peek(1) == '*') refuse("'(*'");
    if (peek(1) != '?') {
      out_ += in_[i_++];
      return;
    }
    const std::string_view rest = in_.substr(i_ + 2);
    for (const std::string_view plain : {":", "=", "!", ">", "<=", "<!"}) {
      if (rest.starts_with(plain)) {
        out_ += in_.substr(i_, 2 + plain.size());
        i_ += 2 + plain.size();
        return;
      }
    }
    for (const std::string_view flags : {"i:", "i)", "-i:", "-i)"}) {
      if (rest.starts_with(flags)) {
        out_ += in_.substr(i_, 2 + flags.size());
        i_ += 2 + flags.size();
        return;
      }
    }
    if (rest.starts_with('<')) {
      const size_t close = rest.find('>');
      if (close != std::string_view::npos) {
        out_ += in_.substr(i_, 3 + close);
        i_ += 3 + close;
        return;
      }
    }
    refuse(fmt::format("the group '(?{}'", rest.substr(0, 1)));
  }

  void interval() {
    size_t end = i_ + 1;
    const auto digits = [&] {
      const size_t begin = end;
      while (end < in_.size() && std::isdigit(static_cast<unsigned char>(in_[end])) != 0) ++end;
      return in_.substr(begin, end - begin);
    };
    const auto low = digits();
    const bool comma = end < in_.size() && in_[end] == ',';
    if (comma) ++end;
    const auto high = comma ? digits() : std::string_view();
    const bool valid = end < in_.size() && in_[end] == '}' && (!low.empty() || !high.empty());
    if (!valid) {  // a brace like any character
      out_ += "\\{";
      ++i_;
      after_interval_ = false;
      return;
    }
    out_ += fmt::format("{{{}{}{}}}", low.empty() ? "0" : low, comma ? "," : "", high);
    i_ = end + 1;
    after_interval_ = true;
    fixed_interval_ = !comma;
  }

  std::string_view in_;
  std::string_view place_;
  size_t i_ = 0;
  std::string out_;
  bool after_interval_ = false;
  bool fixed_interval_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, std::string_view place) {
  return Translator(pattern, place).run();
}

}  // namespace pippin::tokenizers
