#include "pippin/tokenizers/regex/regex_cluster.h"

#include <array>

#include <fmt/format.h>
#include <utf8proc.h>

#include "pippin/tokenizers/unicode/character_set.h"

namespace pippin::tokenizers {
namespace {

// The sets of UAX 29, by boundary class.
std::array<CodePoints, UTF8PROC_BOUNDCLASS_E_ZWG + 1> boundary_classes() {
  std::array<CodePoints, UTF8PROC_BOUNDCLASS_E_ZWG + 1> sets;
  for (char32_t c = 0; c <= kLastCodePoint; ++c) {
    const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    CodePoints& set = sets.at(property->boundclass);
    if (!set.empty() && set.back().last + 1 == c) {
      set.back().last = c;
    } else {
      set.push_back({c, c});
    }
  }
  return sets;
}

std::string make_pattern() {
  const auto sets = boundary_classes();
  const auto set = [&](int boundary_class) {
    return CharacterSet(sets.at(static_cast<size_t>(boundary_class)));
  };
  // PCRE2's property names are short, lists of code points are long, and repeats copy them.
  const CharacterSet extend =
      CharacterSet::property("Grapheme_Extend") | CharacterSet::property("Emoji_Modifier");
  const std::string picture = R"(\p{Extended_Pictographic})";
  const std::string joined = fmt::format(R"({}*\x{{200D}}{})", extend.pcre2(), picture);
  // A match may begin after the first of several joined pictures.
  const std::string emoji = fmt::format("(?:{0}|(?<={0})(?={1}))(?:{1})*", picture, joined);
  const std::string flag = R"(\p{Regional_Indicator}{2})";
  // A syllable without a final consonant, or any other. Text that is not Hangul is excluded first.
  const std::string hangul =
      fmt::format(R"((?=[\x{{1100}}-\x{{11FF}}\x{{A960}}-\x{{A97C}}\x{{AC00}}-\x{{D7FB}}]))"
                  R"((?:{0}*(?:{1}+|{2}{1}*|[\x{{AC00}}-\x{{D7A3}}]){3}*|{0}+|{3}+))",
                  set(UTF8PROC_BOUNDCLASS_L).pcre2(), set(UTF8PROC_BOUNDCLASS_V).pcre2(),
                  set(UTF8PROC_BOUNDCLASS_LV).pcre2(), set(UTF8PROC_BOUNDCLASS_T).pcre2());
  const CharacterSet control =
      set(UTF8PROC_BOUNDCLASS_CR) | set(UTF8PROC_BOUNDCLASS_LF) | set(UTF8PROC_BOUNDCLASS_CONTROL);
  const CharacterSet after =
      extend | set(UTF8PROC_BOUNDCLASS_ZWJ) | set(UTF8PROC_BOUNDCLASS_SPACINGMARK);
  return fmt::format(R"((?>\r\n|{}|{}*(?:{}|{}|{}|{}){}*))", control.pcre2(),
                     set(UTF8PROC_BOUNDCLASS_PREPEND).pcre2(), hangul, flag, emoji,
                     control.complement().pcre2(), after.pcre2());
}

}  // namespace

const std::string& cluster_pattern() {
  static const std::string pattern = make_pattern();
  return pattern;
}

}  // namespace pippin::tokenizers
