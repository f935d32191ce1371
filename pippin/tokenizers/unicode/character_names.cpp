#include "pippin/tokenizers/unicode/character_names.h"

#include <algorithm>
#include <string>

#include "pippin/tokenizers/unicode/unicode_blocks.h"

namespace pippin::tokenizers {
namespace {

struct TypeName {
  std::string_view name;
  CharacterType type;
};
constexpr TypeName kTypes[] = {{"alnum", CharacterType::Alnum}, {"alpha", CharacterType::Alpha},
                               {"ascii", CharacterType::Ascii}, {"blank", CharacterType::Blank},
                               {"cntrl", CharacterType::Cntrl}, {"digit", CharacterType::Digit},
                               {"graph", CharacterType::Graph}, {"lower", CharacterType::Lower},
                               {"print", CharacterType::Print}, {"punct", CharacterType::Punct},
                               {"space", CharacterType::Space}, {"upper", CharacterType::Upper},
                               {"word", CharacterType::Word},   {"xdigit", CharacterType::XDigit}};

// PCRE2 knows only the short names.
struct LongName {
  std::string_view name;
  std::string_view category;
};
constexpr LongName kLongNames[] = {
    {"letter", "L"},
    {"casedletter", "LC"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"combiningmark", "M"},
    {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"punct", "P"},
    {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},
    {"openpunctuation", "Ps"},
    {"closepunctuation", "Pe"},
    {"initialpunctuation", "Pi"},
    {"finalpunctuation", "Pf"},
    {"otherpunctuation", "Po"},
    {"symbol", "S"},
    {"mathsymbol", "Sm"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"other", "C"},
    {"control", "Cc"},
    {"format", "Cf"},
    {"surrogate", "Cs"},
    {"privateuse", "Co"},
    {"unassigned", "Cn"},
};
constexpr std::string_view kCategories[] = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "LC", "M",  "Mn", "Mc", "Me", "N",  "Nd",
    "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc",
    "Sk", "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cs", "Co", "Cn"};

// Names that only PCRE2 has.
constexpr std::string_view kOnlyPcre2[] = {"xan", "xps", "xsp", "xuc", "xwd"};

// Returns the name in lower case, without the characters that are ignored; nothing if a character
// cannot occur in a name.
std::string key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool counts = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (!counts && c != ' ' && c != '_' && c != '-') return "";
    if (counts) key += lower;
  }
  return key;
}

CharacterSet category(std::string_view name) {
  if (name != "LC") return CharacterSet::category(name);
  return CharacterSet::category("Lu") | CharacterSet::category("Ll") | CharacterSet::category("Lt");
}

std::optional<CharacterSet> category_named(std::string_view key) {
  for (const auto known : kCategories) {
    if (key_of(known) == key) return category(known);
  }
  for (const auto& known : kLongNames) {
    if (known.name == key) return category(known.category);
  }
  return std::nullopt;
}

}  // namespace

std::optional<CharacterType> type_named(std::string_view name) {
  for (const auto& known : kTypes) {
    if (known.name == name) return known.type;
  }
  return std::nullopt;
}

CharacterSet set_of(CharacterType type) {
  const auto any_of = [](std::initializer_list<std::string_view> categories) {
    CharacterSet set;
    for (const auto name : categories) set = set | category(name);
    return set;
  };
  const auto alphabetic = [] { return CharacterSet::property("Alphabetic"); };
  switch (type) {
    case CharacterType::Alnum:
      return alphabetic() | category("Nd");
    case CharacterType::Alpha:
      return alphabetic();
    case CharacterType::Ascii:
      return {0, 0x7F};
    case CharacterType::Blank:
      return category("Zs") | CharacterSet('\t', '\t');
    case CharacterType::Cntrl:
      return category("Cc");
    case CharacterType::Digit:
      return category("Nd");
    case CharacterType::Graph:
      return any_of({"Z", "Cc", "Cn", "Cs"}).complement();
    case CharacterType::Lower:
      return CharacterSet::property("Lowercase");
    case CharacterType::Print:
      return any_of({"Zl", "Zp", "Cc", "Cn", "Cs"}).complement();
    case CharacterType::Punct:
      return any_of({"P", "S"});
    case CharacterType::Space:
      // PCRE2's own \s also matches U+180E.
      return category("Z") | CharacterSet('\t', '\r') | CharacterSet(0x85, 0x85);
    case CharacterType::Upper:
      return CharacterSet::property("Uppercase");
    case CharacterType::Word:
      return alphabetic() | any_of({"M", "Nd", "Pc"});
    case CharacterType::XDigit:
      return CharacterSet('0', '9') | CharacterSet('A', 'F') | CharacterSet('a', 'f');
  }
  return {};
}

CharacterSet bare_word() {
  return set_of(CharacterType::Word) | CharacterSet(0xB2, 0xB3) | CharacterSet(0xB9, 0xB9) |
         CharacterSet(0xBC, 0xBE);
}

std::optional<NamedSet> property_named(std::string_view name) {
  const std::string key = key_of(name);
  if (key.empty()) return std::nullopt;
  if (key == "posixpunct") return NamedSet{CharacterType::Punct, set_of(CharacterType::Punct)};
  if (key == "any") return NamedSet{{}, CharacterSet().complement()};
  if (key == "assigned") return NamedSet{{}, category("Cn").complement()};
  if (auto set = category_named(key)) {
    // Only punctuation, unlike [:punct:], which includes symbols.
    return NamedSet{key == "punct" ? std::optional(CharacterType::Punct) : std::nullopt, *set};
  }
  if (const auto type = type_named(key)) return NamedSet{type, set_of(*type)};
  if (auto block = block_named(key)) return NamedSet{{}, std::move(*block)};
  if (std::find(std::begin(kOnlyPcre2), std::end(kOnlyPcre2), key) != std::end(kOnlyPcre2)) {
    return std::nullopt;
  }
  // A script's bare name would mean Script_Extensions.
  for (const std::string& item : {"sc:" + key, key}) {
    if (CharacterSet::is_property(item)) return NamedSet{{}, CharacterSet::property(item)};
  }
  return std::nullopt;
}

}  // namespace pippin::tokenizers
