#include "pippin/tokenizers/unicode/character_set.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin::tokenizers {
namespace {

// The general categories; every code point has exactly one.
constexpr auto kCategories = std::to_array<std::string_view>(
    {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
     "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"});
constexpr uint32_t kAllCategories = (uint32_t{1} << kCategories.size()) - 1;
constexpr std::string_view kMajor = "LMNPSZC";

uint32_t category_mask(std::string_view name) {
  uint32_t mask = 0;
  for (size_t i = 0; i < kCategories.size(); ++i) {
    if (kCategories[i].starts_with(name)) mask |= uint32_t{1} << i;
  }
  return mask;
}

// Returns as few names as possible: "L" rather than its five parts.
std::vector<std::string_view> category_names(uint32_t mask) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kMajor.size(); ++i) {
    const std::string_view major = kMajor.substr(i, 1);
    const uint32_t all = category_mask(major);
    if ((mask & all) == all) {
      names.push_back(major);
      mask &= ~all;
    }
  }
  for (size_t i = 0; i < kCategories.size(); ++i) {
    if ((mask >> i & 1) != 0) names.push_back(kCategories[i]);
  }
  return names;
}

std::string property_item(std::string_view name, bool negated = false) {
  return fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', name);
}

using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;

Code compile(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  return Code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                            PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr),
              &pcre2_code_free);
}

// Returns all code points of a plane as text.
std::string plane_text(char32_t plane) {
  constexpr char32_t kSize = 0x10000;
  std::string text;
  text.reserve(4 * size_t{kSize});
  for (char32_t c = plane * kSize; c < (plane + 1) * kSize; ++c) {
    if (c < 0xD800 || c > 0xDFFF) append_utf8(text, c);
  }
  return text;
}

// Returns the code points that `item` matches, by trying each.
CodePoints look_through(const std::string& item) {
  const Code code = compile("[" + item + "]+");
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
  if (code == nullptr || data == nullptr) {
    fail(ErrorCode::Internal, "PCRE2 has no property {}", item);
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  CodePoints found;
  for (char32_t plane = 0; plane <= 16; ++plane) {
    const std::string text = plane_text(plane);
    size_t at = 0;
    while (pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                       PCRE2_NO_UTF_CHECK, data.get(), nullptr) >= 0) {
      const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
      at = ends[0];
      const char32_t first = decode_utf8(text, at);
      size_t last_at = previous_character(text, ends[1]);
      const char32_t last = decode_utf8(text, last_at);
      if (!found.empty() && found.back().last + 1 == first) {
        found.back().last = last;
      } else {
        found.push_back({first, last});
      }
      at = ends[1];
    }
  }
  return found;
}

const CodePoints& code_points_of(const std::string& item) {
  static std::mutex mutex;
  static std::map<std::string, CodePoints> known;
  const std::lock_guard lock(mutex);
  auto place = known.find(item);
  if (place == known.end()) place = known.emplace(item, look_through(item)).first;
  return place->second;
}

// PCRE2 rejects surrogates.
void append_range(std::string& out, CodePointRange range) {
  if (range.first >= 0xD800 && range.first <= 0xDFFF) range.first = 0xE000;
  if (range.last >= 0xD800 && range.last <= 0xDFFF) range.last = 0xD7FF;
  if (range.first > range.last) return;
  out += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(range.first));
  if (range.first == range.last) return;
  out += fmt::format("-\\x{{{:X}}}", static_cast<uint32_t>(range.last));
}

}  // namespace

CharacterSet CharacterSet::category(std::string_view name) {
  CharacterSet set;
  set.categories_ = category_mask(name);
  return set;
}

CharacterSet CharacterSet::property(std::string name) {
  CharacterSet set;
  set.properties_.push_back({std::move(name), false});
  return set;
}

bool CharacterSet::is_property(std::string_view name) {
  return compile(property_item(name)) != nullptr;
}

CharacterSet CharacterSet::complement() const {
  CharacterSet set = *this;
  set.negated_ = !negated_;
  return set;
}

// A complement of several kinds cannot be written as a union.
bool CharacterSet::can_be_positive() const {
  if (!negated_) return true;
  const size_t kinds =
      (code_points_.empty() ? 0u : 1u) + (categories_ == 0 ? 0u : 1u) + properties_.size();
  return kinds <= 1;
}

CharacterSet CharacterSet::positive() const {
  if (!negated_) return *this;
  CharacterSet set;
  if (!properties_.empty()) {
    set.properties_ = {{properties_[0].name, !properties_[0].negated}};
  } else if (categories_ != 0) {
    set.categories_ = kAllCategories & ~categories_;
  } else {
    set.code_points_ = tokenizers::complement(code_points_);
  }
  return set;
}

CharacterSet operator|(const CharacterSet& a, const CharacterSet& b) {
  if (!a.can_be_positive() || !b.can_be_positive()) {
    return CharacterSet(united(a.code_points(), b.code_points()));
  }
  CharacterSet set = a.positive();
  const CharacterSet other = b.positive();
  set.code_points_ = united(set.code_points_, other.code_points_);
  set.categories_ |= other.categories_;
  for (const auto& property : other.properties_) {
    const auto same = [&](const auto& one) {
      return one.name == property.name && one.negated == property.negated;
    };
    if (std::none_of(set.properties_.begin(), set.properties_.end(), same)) {
      set.properties_.push_back(property);
    }
  }
  return set;
}

CharacterSet operator&(const CharacterSet& a, const CharacterSet& b) {
  return (a.complement() | b.complement()).complement();
}

CodePoints CharacterSet::code_points() const {
  CodePoints all = code_points_;
  for (const auto name : category_names(categories_)) {
    all = united(all, code_points_of(property_item(name)));
  }
  for (const auto& property : properties_) {
    all = united(all, code_points_of(property_item(property.name, property.negated)));
  }
  return negated_ ? tokenizers::complement(all) : all;
}

std::string CharacterSet::pcre2() const {
  std::vector<std::string> names;
  for (const auto name : category_names(categories_)) names.push_back(property_item(name));
  for (const auto& property : properties_) {
    names.push_back(property_item(property.name, property.negated));
  }
  if (names.size() == 1 && code_points_.empty() && !negated_) return names[0];
  std::string out;
  for (const auto& range : code_points_) append_range(out, range);
  for (const auto& name : names) out += name;
  if (out.empty()) return negated_ ? R"([\x{0}-\x{10FFFF}])" : R"([^\x{0}-\x{10FFFF}])";
  return (negated_ ? "[^" : "[") + out + "]";
}

}  // namespace pippin::tokenizers
