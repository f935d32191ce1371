#include "pippin/tokenizers/regex/regex_syntax.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/regex/regex_class.h"
#include "pippin/tokenizers/regex/regex_cluster.h"
#include "pippin/tokenizers/regex/regex_reader.h"
#include "pippin/tokenizers/unicode/case_folds.h"

namespace pippin::tokenizers {
namespace {

constexpr int kMaxGroups = 200;       // nesting depth
constexpr size_t kMaxText = 1 << 20;  // PCRE2's own limit is lower
constexpr int kMaxRepeats = 65535;
constexpr int kMaxBackreference = 1000;

struct Options {
  bool ignore_case = false;
  bool dot_is_all = false;
  bool extended = false;
  bool look_behind = false;
  AsciiTypes ascii;
};

// A part of a sequence: literal characters, or text for PCRE2.
struct Part {
  std::u32string literal;
  std::string text;
  bool exact_case = false;  // regardless of the options
  bool repeatable = true;
  bool repeated = false;
};

void append_literal(std::string& out, char32_t c) {
  const bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  if (c < 0x20 || c == 0x7F) {
    out += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c));
    return;
  }
  if (c < 0x7F && !word) out += '\\';
  append_utf8(out, c);
}

std::string literal_text(std::u32string_view characters, const Options& options) {
  std::string out;
  for (size_t i = 0; i < characters.size(); ++i) {
    const char32_t c = characters[i];
    if (!options.ignore_case) {
      append_literal(out, c);
      continue;
    }
    // PCRE2 folds single characters, but not a character that folds to several. Neither does
    // Oniguruma in a look-behind.
    const LongFold* several = options.look_behind ? nullptr : long_fold_at(characters.substr(i));
    const LongFold* fold = several != nullptr ? several : long_fold_of(c);
    if (fold == nullptr) {
      append_literal(out, c);
      continue;
    }
    out += "(?:[";
    for (const char32_t one : fold->characters) append_utf8(out, one);
    out += ']';
    if (!options.look_behind) {
      out += '|';
      for (const char32_t one : fold->sequence) append_literal(out, one);
    }
    out += ')';
    if (several != nullptr) i += several->sequence.size() - 1;
  }
  return out;
}

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view place) : in_(pattern, place) {}

  std::string run() {
    std::string text = joined(alternatives({}), {});
    if (!in_.at_end()) in_.refuse("')' without '('");
    if (most_referenced_ > groups_) in_.refuse("a reference to a group that is not there");
    return text;
  }

 private:
  using Sequence = std::vector<Part>;
  using Alternatives = std::vector<Sequence>;

  Alternatives alternatives(const Options& options) {
    Alternatives all = {sequence(options)};
    while (in_.take("|")) all.push_back(sequence(options));
    return all;
  }

  Sequence sequence(const Options& options) {
    Sequence parts;
    while (true) {
      skip(options);
      if (in_.at_end() || in_.peek() == '|' || in_.peek() == ')') return parts;
      if (in_.take("(")) {
        group(parts, options);
      } else if (!repeat(parts, options)) {
        parts.push_back(part(options));
      }
    }
  }

  // Skips comments, and spaces in the extended form.
  void skip(const Options& options) {
    while (true) {
      if (in_.take("(?#")) {
        while (!in_.take(")")) {
          in_.take("\\");
          if (in_.at_end()) in_.refuse("a comment without an end");
          in_.take_character();
        }
      } else if (options.extended && in_.take("#")) {
        while (!in_.at_end() && in_.take_character() != '\n') {
        }
      } else if (options.extended && !in_.at_end() &&
                 std::string_view(" \t\n\r\f").find(in_.peek()) != std::string_view::npos) {
        in_.take_character();
      } else {
        return;
      }
    }
  }

  Part text_part(std::string text) {
    made_ += text.size();
    if (made_ > kMaxText) in_.refuse("what becomes too large");
    Part result;
    result.text = std::move(text);
    return result;
  }
  Part anchor(std::string text) {
    Part result = text_part(std::move(text));
    result.repeatable = false;
    return result;
  }
  static Part literal_part(char32_t c) {
    Part result;
    result.literal = c;
    return result;
  }
  Part exact_part(std::string text) {
    Part result = text_part(std::move(text));
    result.exact_case = true;
    return result;
  }

  Part part(const Options& options) {
    if (in_.take("\\")) return escape(options);
    if (in_.take("[")) return class_part(take_class(in_, options.ascii), options);
    if (in_.take(".")) return text_part(options.dot_is_all ? "(?s:.)" : ".");
    if (in_.take("^")) return anchor("^");
    if (in_.take("$")) return anchor("$");
    return literal_part(in_.take_character());
  }

  Part escape(const Options& options) {
    if (auto set = in_.take_set_escape()) {
      const bool all_words =
          set->type == CharacterType::Word && !options.ascii.word && !options.ascii.all;
      const CharacterSet base =
          all_words ? bare_word() : limited(set->set, set->type, options.ascii);
      return exact_part((set->negated ? base.complement() : base).pcre2());
    }
    if (in_.take("b")) return word_boundary(true, options);
    if (in_.take("B")) return word_boundary(false, options);
    for (const std::string_view name : {"A", "Z", "z", "G", "K"}) {
      if (in_.take(name)) return anchor("\\" + std::string(name));
    }
    if (in_.take("R")) return text_part(R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))");
    if (in_.take("N")) return text_part(".");
    if (in_.take("O")) return text_part("(?s:.)");
    if (in_.take("X")) return exact_part(cluster_pattern());
    if (in_.peek() == 'y' || in_.peek() == 'Y') in_.refuse("a boundary of text segments");
    if (in_.rest().starts_with("g<") || in_.rest().starts_with("g'")) in_.refuse("a call");
    if (in_.take("k<")) return named_reference('>', options);
    if (in_.take("k'")) return named_reference('\'', options);
    if (in_.peek() >= '1' && in_.peek() <= '9') {
      if (auto reference = numbered_reference(options)) return *reference;
    }
    return literal_part(in_.take_escaped_character());
  }

  Part word_boundary(bool positive, const Options& options) {
    const CharacterSet set = options.ascii.word || options.ascii.all
                                 ? set_of(CharacterType::Word) & CharacterSet(0, 0x7F)
                                 : bare_word();
    const std::string w = set.pcre2();
    Part result = anchor(positive ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", w)
                                  : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", w));
    result.exact_case = true;
    return result;
  }

  // A number that names no group is a character in octal.
  std::optional<Part> numbered_reference(const Options& options) {
    RegexReader ahead = in_;
    const int number = ahead.take_number().value_or(0);
    if (number > kMaxBackreference || (number > groups_ && number > 9)) return std::nullopt;
    in_ = ahead;
    if (named_) in_.refuse("a numbered reference next to named groups");
    return reference(number, options);
  }

  Part reference(int number, const Options& options) {
    if (options.ignore_case) in_.refuse("a reference without regard to case");
    if (number <= 0) in_.refuse("a reference to a group that is not there");
    most_referenced_ = std::max(most_referenced_, number);
    return text_part(fmt::format("\\g{{{}}}", number));
  }

  Part named_reference(char end, const Options& options) {
    const bool back = in_.take("-");
    if (const auto number = in_.take_number()) {
      if (!in_.take(std::string_view(&end, 1))) in_.refuse("this form of a reference");
      if (named_) in_.refuse("a numbered reference next to named groups");
      return reference(back ? groups_ + 1 - *number : *number, options);
    }
    const std::string name = group_name(end);
    if (options.ignore_case) in_.refuse("a reference without regard to case");
    return text_part(fmt::format("\\k{{{}}}", name));
  }

  std::string group_name(char end) {
    const size_t size = in_.rest().find(end);
    if (size == std::string_view::npos || size == 0) in_.refuse("a name without an end");
    std::string name(in_.rest().substr(0, size));
    for (const char c : name) {
      const bool word =
          (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
      if (!word) in_.refuse(fmt::format("the group's name '{}'", name));
    }
    in_.take(name);
    in_.take(std::string_view(&end, 1));
    return name;
  }

  // Parses a group after "(".
  void group(Sequence& parts, Options options) {
    if (++depth_ > kMaxGroups) in_.refuse("a group nested that deep");
    if (in_.peek() == '*') in_.refuse("'(*'");
    if (!in_.take("?")) {
      ++groups_;
      parts.push_back(closed("(", options));
    } else if (in_.take(":")) {
      parts.push_back(plain_group(options));
    } else if (in_.take("=")) {
      parts.push_back(look("(?=", options));
    } else if (in_.take("!")) {
      parts.push_back(look("(?!", options));
    } else if (in_.take(">")) {
      parts.push_back(closed("(?>", options));
    } else if (in_.take("<=")) {
      options.look_behind = true;
      parts.push_back(look("(?<=", options));
    } else if (in_.take("<!")) {
      options.look_behind = true;
      parts.push_back(look("(?<!", options));
    } else if (in_.take("<")) {
      parts.push_back(named_group('>', options));
    } else if (in_.take("'")) {
      parts.push_back(named_group('\'', options));
    } else {
      option_group(parts, options);
    }
    --depth_;
  }

  Part named_group(char end, const Options& options) {
    ++groups_;
    named_ = true;
    return closed(fmt::format("(?<{}>", group_name(end)), options);
  }

  Part closed(std::string_view opening, const Options& options) {
    const std::string inner = joined(alternatives(options), options);
    if (!in_.take(")")) in_.refuse("'(' without ')'");
    return text_part(std::string(opening) + inner + ")");
  }

  Part look(std::string_view opening, const Options& options) {
    Part result = closed(opening, options);
    result.repeatable = false;
    return result;
  }

  // A group of literal characters counts as these characters unless it is repeated.
  Part plain_group(const Options& options) {
    Alternatives all = alternatives(options);
    if (!in_.take(")")) in_.refuse("'(' without ')'");
    if (all.size() == 1 && !all[0].empty()) {
      Sequence& parts = all[0];
      Part whole;
      for (const auto& one : parts) whole.literal += one.literal;
      const bool only_literal = std::all_of(parts.begin(), parts.end(),
                                            [](const Part& one) { return !one.literal.empty(); });
      if (only_literal) return whole;
      if (parts.size() == 1 && !parts[0].repeatable) return std::move(parts[0]);
    }
    return text_part("(?:" + joined(all, options) + ")");
  }

  // Parses letters after "(?" that switch options on and off. Without ':', they apply to the end of
  // the group.
  void option_group(Sequence& parts, const Options& outer) {
    Options options = outer;
    bool on = true;
    while (in_.peek() != ':' && in_.peek() != ')') {
      if (in_.take("-")) {
        on = false;
      } else if (in_.take("i")) {
        options.ignore_case = on;
      } else if (in_.take("m")) {
        options.dot_is_all = on;
      } else if (in_.take("x")) {
        options.extended = on;
      } else if (in_.take("W")) {
        options.ascii.word = on;
      } else if (in_.take("D")) {
        options.ascii.digit = on;
      } else if (in_.take("S")) {
        options.ascii.space = on;
      } else if (in_.take("P")) {
        options.ascii.all = on;
      } else {
        in_.refuse(fmt::format("the group '(?{}'", in_.rest().substr(0, 1)));
      }
    }
    const bool to_the_end = in_.take(")");
    if (!to_the_end) in_.take(":");
    const std::string text = joined(alternatives(options), options);
    if (!to_the_end && !in_.take(")")) in_.refuse("'(' without ')'");
    parts.push_back(text_part((options.ignore_case ? "(?i:" : "(?-i:") + text + ")"));
  }

  Part class_part(const BracketClass& bracket, const Options& options) {
    if (!options.ignore_case) {
      return exact_part((bracket.negated ? bracket.set.complement() : bracket.set).pcre2());
    }
    const CodePoints members = bracket.set.code_points();
    const CharacterSet set = bracket.set | CharacterSet(closed_under_case(members));
    if (bracket.negated) return exact_part(set.complement().pcre2());
    std::string sequences;
    for (const auto& fold : long_folds()) {
      for (const char32_t c : fold.characters) {
        if (!contains(members, c)) continue;
        sequences += "|(?i:";
        for (const char32_t one : fold.sequence) append_literal(sequences, one);
        sequences += ')';
        break;
      }
    }
    if (sequences.empty()) return exact_part(set.pcre2());
    return exact_part("(?:" + set.pcre2() + sequences + ")");
  }

  // Parses a repeat of the last part, if there is one.
  bool repeat(Sequence& parts, const Options& options) {
    const std::string mark = in_.peek() == '{' ? interval() : simple_repeat();
    if (mark.empty()) return false;
    if (parts.empty()) in_.refuse("a repeat of nothing");
    Part& last = parts.back();
    if (!last.repeatable) in_.refuse("a repeat of an anchor");
    if (!last.literal.empty()) {
      const bool several = last.literal.size() > 1;
      const std::string text = literal_text(last.literal, options);
      last = text_part(several ? "(?:" + text + ")" : text);
    } else if (last.repeated) {
      last.text = "(?:" + last.text + ")";
    }
    last.text += mark;
    last.repeated = true;
    return true;
  }

  std::string simple_repeat() {
    for (const std::string_view mark : {"*?", "*+", "*", "+?", "++", "+", "??", "?+", "?"}) {
      if (in_.take(mark)) return std::string(mark);
    }
    return "";
  }

  // Parses {n}, {n,}, {n,m} or {,m}. Any other brace is a literal character.
  std::string interval() {
    RegexReader ahead = in_;
    ahead.take("{");
    const auto low = ahead.take_number();
    const bool fixed = !ahead.take(",");
    const auto high = fixed ? low : ahead.take_number();
    if ((!low && !high) || !ahead.take("}")) return "";
    in_ = ahead;
    const int least = low.value_or(0), most = high.value_or(least);
    if (std::max(least, most) > kMaxRepeats) in_.refuse("a repeat that often");
    // With the bounds reversed, Oniguruma makes the repeat possessive.
    if (most < least) return fmt::format("{{{},{}}}+", most, least);
    if (fixed) return fmt::format("{{{}}}", least);
    const std::string text = high ? fmt::format("{{{},{}}}", least, most)  //
                                  : fmt::format("{{{},}}", least);
    return in_.take("?") ? text + "?" : text;
  }

  static std::string joined(const Sequence& parts, const Options& options) {
    std::string out;
    std::u32string characters;
    for (const auto& one : parts) {
      characters += one.literal;
      if (!one.literal.empty()) continue;
      out += literal_text(std::exchange(characters, {}), options);
      const bool switched = one.exact_case && options.ignore_case;
      out += switched ? "(?-i:" + one.text + ")" : one.text;
    }
    return out + literal_text(characters, options);
  }

  static std::string joined(const Alternatives& all, const Options& options) {
    std::string out = joined(all[0], options);
    for (size_t i = 1; i < all.size(); ++i) out += "|" + joined(all[i], options);
    return out;
  }

  RegexReader in_;
  int depth_ = 0;
  int groups_ = 0;
  int most_referenced_ = 0;
  size_t made_ = 0;  // bytes
  bool named_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, std::string_view place) {
  return Translator(pattern, place).run();
}

}  // namespace pippin::tokenizers
