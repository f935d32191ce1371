#include "pippin/tokenizers/charsmap.h"

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::tokenizers {
namespace {

uint32_t little_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t value_of(uint32_t unit) {
  return unit & 0x7FFFFFFFu;
}
uint32_t label_of(uint32_t unit) {
  return unit & 0x800000FFu;
}
uint32_t offset_of(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200u) >> 6);
}

}  // namespace

Charsmap::Charsmap(std::string_view blob, std::string_view place) {
  const size_t trie_bytes = blob.size() < 4 ? 0 : little_endian(blob, 0);
  if (blob.size() < 4 || trie_bytes > blob.size() - 4 || trie_bytes % 4 != 0 || trie_bytes == 0) {
    fail(ErrorCode::InvalidFile, "{}: a charsmap of {} bytes with a trie of {}", place, blob.size(),
         trie_bytes);
  }
  units_.reserve(trie_bytes / 4);
  for (size_t i = 4; i < 4 + trie_bytes; i += 4) units_.push_back(little_endian(blob, i));
  texts_ = blob.substr(4 + trie_bytes);
  if (!is_valid_utf8(texts_)) {
    fail(ErrorCode::InvalidFile, "{}: the charsmap's replacements are not UTF-8", place);
  }
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool first) const {
  std::optional<Match> match;
  size_t node = offset_of(units_[0]);
  for (size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) break;
    if (const auto found = replacement(value_of(units_[node]))) match = Match{i + 1, *found};
    if (first) break;
  }
  return match;
}

std::optional<std::string_view> Charsmap::replacement(uint32_t place) const {
  if (place > texts_.size()) return std::nullopt;
  const std::string_view rest = std::string_view(texts_).substr(place);
  // A replacement that starts inside a character would be broken text.
  if (!rest.empty() && (static_cast<unsigned char>(rest[0]) & 0xC0) == 0x80) return std::nullopt;
  return rest.substr(0, rest.find('\0'));
}

}  // namespace pippin::tokenizers
