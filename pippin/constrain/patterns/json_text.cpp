#include "pippin/constrain/patterns/json_text.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/constrain/patterns/digit_boxes.h"
#include "pippin/constrain/utf8.h"

namespace pippin::constrain {

using tokenizers::CodePointRange;
using tokenizers::CodePoints;

namespace {

constexpr std::array<std::pair<char32_t, char>, 8> kShortEscapes{{{'"', '"'},
                                                                  {'\\', '\\'},
                                                                  {'/', '/'},
                                                                  {'\b', 'b'},
                                                                  {'\f', 'f'},
                                                                  {'\n', 'n'},
                                                                  {'\r', 'r'},
                                                                  {'\t', 't'}}};

CodePoints cut(const CodePoints& set, char32_t first, char32_t last) {
  CodePoints result;
  for (const CodePointRange& range : set) {
    const char32_t from = std::max(range.first, first), to = std::min(range.last, last);
    if (from <= to) result.push_back({from, to});
  }
  return result;
}

void add_utf8(RegexPool& pool, const CodePoints& set, std::vector<RegexId>& out) {
  struct Form {
    char32_t first, last;
    uint8_t lead;
    int bytes;
  };
  // Without the surrogates, which UTF-8 has not.
  constexpr std::array<Form, 5> kForms{{{0, 0x7F, 0, 1},
                                        {0x80, 0x7FF, 0xC0, 2},
                                        {0x800, 0xD7FF, 0xE0, 3},
                                        {0xE000, 0xFFFF, 0xE0, 3},
                                        {0x10000, 0x10FFFF, 0xF0, 4}}};
  for (const Form& form : kForms) {
    for (const CodePointRange& range : cut(set, form.first, form.last)) {
      if (form.bytes == 1) {
        out.push_back(
            pool.bytes({static_cast<uint8_t>(range.first), static_cast<uint8_t>(range.last)}));
        continue;
      }
      for (const DigitBox& box : digit_boxes(range.first, range.last, form.bytes, 64)) {
        RegexId sequence = RegexPool::kEmpty;
        for (size_t i = box.size(); i-- > 0;) {
          const uint32_t base = i == 0 ? form.lead : 0x80;
          sequence = pool.concat(pool.bytes({static_cast<uint8_t>(base + box[i].first),
                                             static_cast<uint8_t>(base + box[i].second)}),
                                 sequence);
        }
        out.push_back(sequence);
      }
    }
  }
}

RegexId hex_digit(RegexPool& pool, uint32_t first, uint32_t last) {
  ByteSet set;
  for (uint32_t digit = first; digit <= last; ++digit) {
    if (digit < 10) {
      set.add(static_cast<uint8_t>('0' + digit));
    } else {
      set.add(static_cast<uint8_t>('a' + digit - 10));
      set.add(static_cast<uint8_t>('A' + digit - 10));
    }
  }
  return pool.bytes(set);
}

// \uXXXX for a range of its numbers.
RegexId unit_escapes(RegexPool& pool, uint64_t first, uint64_t last) {
  std::vector<RegexId> alternatives;
  for (const DigitBox& box : digit_boxes(first, last, 4, 16)) {
    RegexId digits = RegexPool::kEmpty;
    for (size_t i = box.size(); i-- > 0;)
      digits = pool.concat(hex_digit(pool, box[i].first, box[i].second), digits);
    alternatives.push_back(digits);
  }
  return pool.concat(pool.literal("\\u"), pool.any_of(alternatives));
}

void add_escapes(RegexPool& pool, const CodePoints& set, std::vector<RegexId>& out) {
  ByteSet letters;
  for (const auto& [c, letter] : kShortEscapes) {
    if (tokenizers::contains(set, c)) letters.add(static_cast<uint8_t>(letter));
  }
  if (!letters.is_empty()) out.push_back(pool.concat(pool.literal("\\"), pool.bytes(letters)));
  for (const auto& [first, last] :
       {std::pair<char32_t, char32_t>{0, 0x1F}, {0x7F, 0xD7FF}, {0xE000, 0xFFFF}}) {
    for (const CodePointRange& range : cut(set, first, last))
      out.push_back(unit_escapes(pool, range.first, range.last));
  }
  for (const CodePointRange& range : cut(set, 0x10000, 0x10FFFF)) {
    for (const DigitBox& box : digit_boxes(range.first - 0x10000, range.last - 0x10000, 2, 0x400)) {
      out.push_back(pool.concat(unit_escapes(pool, 0xD800 + box[0].first, 0xD800 + box[0].second),
                                unit_escapes(pool, 0xDC00 + box[1].first, 0xDC00 + box[1].second)));
    }
  }
}

}  // namespace

RegexId character(RegexPool& pool, const CodePoints& set, Writing writing) {
  std::vector<RegexId> alternatives;
  if (writing == Writing::Utf8) {
    add_utf8(pool, set, alternatives);
  } else {
    CodePoints plain;
    for (const auto& [first, last] :
         {std::pair<char32_t, char32_t>{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}}) {
      const CodePoints part = cut(set, first, last);
      plain.insert(plain.end(), part.begin(), part.end());
    }
    add_utf8(pool, plain, alternatives);
    add_escapes(pool, set, alternatives);
  }
  return pool.any_of(alternatives);
}

RegexId any_character(RegexPool& pool, Writing writing) {
  return character(pool, {{0, tokenizers::kLastCodePoint}}, writing);
}

RegexId any_text(RegexPool& pool, Writing writing) {
  return pool.repeat(any_character(pool, writing), 0);
}

RegexId exact_text(RegexPool& pool, std::string_view text, Writing writing) {
  if (writing == Writing::Utf8) return pool.literal(text);
  std::vector<RegexId> characters;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    char32_t c = 0xFFFD;
    if (length == 1) c = static_cast<uint8_t>(text[i]);
    if (length > 1) {
      c = static_cast<uint8_t>(text[i]) & (0xFFU >> (length + 1));
      for (size_t j = 1; j < length; ++j) c = c << 6 | (static_cast<uint8_t>(text[i + j]) & 0x3FU);
    }
    const bool is_plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '/';
    const auto byte = static_cast<uint8_t>(c);
    characters.push_back(is_plain ? pool.bytes({byte, byte}) : character(pool, {{c, c}}, writing));
    i += std::max<size_t>(length, 1);
  }
  return pool.concat(characters);
}

RegexId string_length(RegexPool& pool, uint64_t least, std::optional<uint64_t> most) {
  constexpr uint64_t kMost = RegexPool::kUnlimited - 1;
  if (most.has_value() && *most < least) return RegexPool::kNothing;
  if (least > kMost) {
    fail(ErrorCode::LimitExceeded,
         "a string of at least {} characters is longer than can be counted ({})", least, kMost);
  }
  const uint64_t limit = most.value_or(UINT64_MAX);
  return pool.repeat(any_character(pool, Writing::JsonString), static_cast<uint32_t>(least),
                     limit > kMost ? RegexPool::kUnlimited : static_cast<uint32_t>(limit));
}

RegexId quoted(RegexPool& pool, RegexId content) {
  const RegexId quote = pool.bytes({'"', '"'});
  return pool.concat(std::array{quote, content, quote});
}

}  // namespace pippin::constrain
