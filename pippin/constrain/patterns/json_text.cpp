#include "pippin/constrain/patterns/json_text.h"

#include <algorithm>
#include <array>
#include <map>
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

// One way to write some characters: bytes of these sets, then the rest.
struct Way {
  std::vector<ByteSet> bytes;
  RegexId rest = RegexPool::kEmpty;
};

// Joins all ways into a tree. Bytes with the same continuation are one step, so that the expression
// for a thousand ranges has few alternatives at each point.
RegexId joined(RegexPool& pool, const std::vector<const Way*>& ways, size_t at) {
  std::vector<RegexId> alternatives;
  std::array<std::vector<const Way*>, 256> by_byte;
  for (const Way* way : ways) {
    if (way->bytes.size() == at) {
      alternatives.push_back(way->rest);
      continue;
    }
    for (size_t byte = 0; byte < 256; ++byte) {
      if (way->bytes[at].contains(static_cast<uint8_t>(byte))) by_byte[byte].push_back(way);
    }
  }
  std::map<std::vector<const Way*>, ByteSet> same;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (!by_byte[byte].empty()) same[std::move(by_byte[byte])].add(static_cast<uint8_t>(byte));
  }
  std::map<RegexId, ByteSet> by_rest;
  for (const auto& [some, bytes] : same) {
    const RegexId rest = joined(pool, some, at + 1);
    by_rest[rest] = by_rest[rest] | bytes;
  }
  for (const auto& [rest, bytes] : by_rest)
    alternatives.push_back(pool.concat(pool.bytes(bytes), rest));
  return pool.any_of(alternatives);
}

void add_utf8(const CodePoints& set, std::vector<Way>& out) {
  struct Form {
    char32_t first, last;
    uint8_t lead;
    int bytes;
  };
  // Excludes surrogates, which UTF-8 cannot encode.
  constexpr std::array<Form, 5> kForms{{{0, 0x7F, 0, 1},
                                        {0x80, 0x7FF, 0xC0, 2},
                                        {0x800, 0xD7FF, 0xE0, 3},
                                        {0xE000, 0xFFFF, 0xE0, 3},
                                        {0x10000, 0x10FFFF, 0xF0, 4}}};
  for (const Form& form : kForms) {
    for (const CodePointRange& range : cut(set, form.first, form.last)) {
      const uint64_t radix = form.bytes == 1 ? 128 : 64;
      for (const DigitBox& box : digit_boxes(range.first, range.last, form.bytes, radix)) {
        Way way;
        for (size_t i = 0; i < box.size(); ++i) {
          const uint32_t base = i == 0 ? form.lead : 0x80;
          way.bytes.push_back({static_cast<uint8_t>(base + box[i].first),
                               static_cast<uint8_t>(base + box[i].second)});
        }
        out.push_back(std::move(way));
      }
    }
  }
}

ByteSet byte(char c) {
  return {static_cast<uint8_t>(c), static_cast<uint8_t>(c)};
}

ByteSet hex_digit(uint32_t first, uint32_t last) {
  ByteSet set;
  for (uint32_t digit = first; digit <= last; ++digit) {
    if (digit < 10) {
      set.add(static_cast<uint8_t>('0' + digit));
    } else {
      set.add(static_cast<uint8_t>('a' + digit - 10));
      set.add(static_cast<uint8_t>('A' + digit - 10));
    }
  }
  return set;
}

// Adds \uXXXX for a range of code units.
void add_unit(uint64_t first, uint64_t last, RegexId rest, std::vector<Way>& out) {
  for (const DigitBox& box : digit_boxes(first, last, 4, 16)) {
    Way way{{byte('\\'), byte('u')}, rest};
    for (const auto& [low, high] : box) way.bytes.push_back(hex_digit(low, high));
    out.push_back(std::move(way));
  }
}

RegexId joined(RegexPool& pool, const std::vector<Way>& ways) {
  std::vector<const Way*> all;
  all.reserve(ways.size());
  for (const Way& way : ways) all.push_back(&way);
  return joined(pool, all, 0);
}

void add_escapes(RegexPool& pool, const CodePoints& set, std::vector<Way>& out) {
  ByteSet letters;
  for (const auto& [c, letter] : kShortEscapes) {
    if (tokenizers::contains(set, c)) letters.add(static_cast<uint8_t>(letter));
  }
  if (!letters.is_empty()) out.push_back({{byte('\\'), letters}, RegexPool::kEmpty});
  for (const auto& [first, last] :
       {std::pair<char32_t, char32_t>{0, 0x1F}, {0x7F, 0xD7FF}, {0xE000, 0xFFFF}}) {
    for (const CodePointRange& range : cut(set, first, last))
      add_unit(range.first, range.last, RegexPool::kEmpty, out);
  }
  for (const CodePointRange& range : cut(set, 0x10000, 0x10FFFF)) {
    for (const DigitBox& box : digit_boxes(range.first - 0x10000, range.last - 0x10000, 2, 0x400)) {
      std::vector<Way> low;
      add_unit(0xDC00 + box[1].first, 0xDC00 + box[1].second, RegexPool::kEmpty, low);
      add_unit(0xD800 + box[0].first, 0xD800 + box[0].second, joined(pool, low), out);
    }
  }
}

}  // namespace

RegexId character(RegexPool& pool, const CodePoints& set, Writing writing) {
  std::vector<Way> ways;
  if (writing == Writing::Utf8) {
    add_utf8(set, ways);
  } else {
    CodePoints plain;
    for (const auto& [first, last] :
         {std::pair<char32_t, char32_t>{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}}) {
      const CodePoints part = cut(set, first, last);
      plain.insert(plain.end(), part.begin(), part.end());
    }
    add_utf8(plain, ways);
    add_escapes(pool, set, ways);
  }
  return joined(pool, ways);
}

RegexId any_character(RegexPool& pool, Writing writing) {
  RegexId& kept = pool.kept(static_cast<size_t>(writing));
  if (kept == RegexPool::kNothing)
    kept = character(pool, {{0, tokenizers::kLastCodePoint}}, writing);
  return kept;
}

RegexId any_text(RegexPool& pool, Writing writing) {
  return pool.repeat(any_character(pool, writing), 0);
}

RegexId exact_text(RegexPool& pool, std::string_view text, Writing writing) {
  if (writing == Writing::Utf8) return pool.literal(text);
  std::vector<RegexId> characters;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const char32_t c = length == 0 ? 0xFFFD : utf8_decode(text.substr(i), length);
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
