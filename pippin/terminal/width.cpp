#include "pippin/terminal/width.h"

#include <algorithm>

#include <fmt/format.h>
#include <utf8proc.h>

#include "pippin/base/text.h"

namespace pippin::terminal {
namespace {

constexpr char32_t kEmojiForm = 0xFE0F;  // variation selector 16
constexpr int kMostCharacters = 32;      // per cluster, because texts may contain endless combining
                                         // marks
constexpr size_t kLongestCharacter = 4;

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

// Marks that reorder or hide text for the reader.
bool is_misleading(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E ||
         c == 0x200F || c == 0x2028 || c == 0x2029 || (c >= 0xE0000 && c <= 0xE007F);
}

// Two of them form a flag.
bool is_regional(char32_t c) {
  return c >= 0x1F1E6 && c <= 0x1F1FF;
}

int columns_of(char32_t c) {
  return std::clamp(utf8proc_charwidth(static_cast<utf8proc_int32_t>(c)), 0, 2);
}

}  // namespace

Cluster cluster_at(std::string_view text, size_t position) {
  size_t next = position;
  char32_t last = decode_utf8(text, next);
  Cluster cluster{next - position, columns_of(last), is_control(last)};
  if (cluster.is_control) {
    cluster.columns = 2;
    return cluster;
  }
  utf8proc_int32_t state = 0;
  for (int i = 1; i < kMostCharacters && next < text.size(); ++i) {
    size_t end = next;
    const char32_t c = decode_utf8(text, end);
    if (is_control(c) ||
        utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last),
                                         static_cast<utf8proc_int32_t>(c), &state) != 0) {
      break;
    }
    const bool is_picture = c == kEmojiForm || is_regional(c);
    cluster.columns = std::max(cluster.columns, is_picture ? 2 : columns_of(c));
    last = c;
    next = end;
  }
  cluster.size = next - position;
  return cluster;
}

size_t cluster_before(std::string_view text, size_t position) {
  // Clusters are found by scanning forwards, from the start of a line or from far enough before.
  const size_t most = kMostCharacters * kLongestCharacter * 4;
  size_t at = position > most ? position - most : 0;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  const size_t line = text.rfind('\n', position - 1);
  if (line != std::string_view::npos && line + 1 < position) at = std::max(at, line + 1);
  for (;;) {
    const size_t next = at + cluster_at(text, at).size;
    if (next >= position) return at;
    at = next;
  }
}

Shown shown(std::string_view cluster, bool is_utf8) {
  Shown result;
  size_t at = 0;
  while (at < cluster.size()) {
    const size_t begin = at;
    const char32_t c = decode_utf8(cluster, at);
    if (c < 0x20 || c == 0x7F) {
      result.text += '^';
      result.text += static_cast<char>(c ^ 0x40);
      result.columns += 2;
    } else if (is_control(c) || is_misleading(c)) {
      result.text += fmt::format("<{:X}>", static_cast<uint32_t>(c));
      result.columns += static_cast<int>(fmt::formatted_size("<{:X}>", static_cast<uint32_t>(c)));
    } else if (c < 0x80 || is_utf8) {
      // Also for invalid bytes, with U+FFFD.
      append_utf8(result.text, c);
      if (begin == 0) result.columns += cluster_at(cluster, 0).columns;
    } else if (begin == 0) {
      result.text += '?';
      result.columns += 1;
    }
  }
  return result;
}

}  // namespace pippin::terminal
