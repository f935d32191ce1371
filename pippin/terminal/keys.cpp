#include "pippin/terminal/keys.h"

#include <array>
#include <utility>

#include "pippin/base/text.h"

namespace pippin::terminal {
namespace {

constexpr char kEscape = '\x1B';
constexpr std::string_view kPasteBegin = "\x1B[200~", kPasteEnd = "\x1B[201~";
constexpr size_t kLongestSequence = 64;
constexpr int kEscapePatience = 50, kPastePatience = 2000;

struct Sequence {
  std::string_view text;  // after the Escape
  KeyKind kind;
};
constexpr std::array<Sequence, 30> kSequences = {{
    {"[A", KeyKind::Up},           {"OA", KeyKind::Up},           {"[B", KeyKind::Down},
    {"OB", KeyKind::Down},         {"[C", KeyKind::Right},        {"OC", KeyKind::Right},
    {"[D", KeyKind::Left},         {"OD", KeyKind::Left},         {"[H", KeyKind::Home},
    {"OH", KeyKind::Home},         {"[1~", KeyKind::Home},        {"[7~", KeyKind::Home},
    {"[F", KeyKind::End},          {"OF", KeyKind::End},          {"[4~", KeyKind::End},
    {"[8~", KeyKind::End},         {"[3~", KeyKind::Delete},      {"[1;5C", KeyKind::WordRight},
    {"[1;3C", KeyKind::WordRight}, {"f", KeyKind::WordRight},     {"[1;5D", KeyKind::WordLeft},
    {"[1;3D", KeyKind::WordLeft},  {"b", KeyKind::WordLeft},      {"d", KeyKind::DeleteNextWord},
    {"\x7F", KeyKind::DeleteWord}, {"\b", KeyKind::DeleteWord},   {"\r", KeyKind::AltEnter},
    {"\n", KeyKind::AltEnter},     {"[13;2u", KeyKind::AltEnter}, {"[27;2;13~", KeyKind::AltEnter},
}};

// Returns the length of the sequence after an Escape; 0 if it is incomplete.
size_t sequence_size(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == 'O') return text.size() < 2 ? 0 : 2;
  if (text[0] != '[') {
    size_t end = 0;
    if (complete_utf8_prefix(text.substr(0, 4)) == 0) return 0;
    decode_utf8(text, end);
    return end;
  }
  for (size_t i = 1; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x40 && c <= 0x7E) return i + 1;
    if (c < 0x20 || c > 0x7E || i > kLongestSequence) return i;  // invalid
  }
  return 0;
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte != 0x7F;
}

}  // namespace

std::optional<Key> KeyDecoder::next() {
  for (;;) {
    if (is_pasting_) return take_paste();
    if (bytes_.empty()) return std::nullopt;
    const char c = bytes_[0];
    if (is_plain(c)) return take_text();
    if (c == kEscape) {
      if (std::string_view(bytes_).starts_with(kPasteBegin)) {
        bytes_.erase(0, kPasteBegin.size());
        is_pasting_ = true;
        searched_ = 0;
        continue;
      }
      const size_t size = sequence_size(std::string_view(bytes_).substr(1));
      if (size == 0) return std::nullopt;
      if (auto key = take_escape()) return key;
      continue;
    }
    switch (c) {
      case '\r':
      case '\n':
        return taken(1, {KeyKind::Enter, {}});
      case '\t':
        return taken(1, {KeyKind::Tab, {}});
      case '\b':
      case '\x7F':
        return taken(1, {KeyKind::Backspace, {}});
      default:
        return taken(1, {KeyKind::Control, {}, static_cast<char>(c + 'a' - 1)});
    }
  }
}

Key KeyDecoder::taken(size_t bytes, Key key) {
  bytes_.erase(0, bytes);
  return key;
}

std::optional<Key> KeyDecoder::take_escape() {
  const size_t size = sequence_size(std::string_view(bytes_).substr(1));
  const std::string sequence = bytes_.substr(1, size);
  bytes_.erase(0, 1 + size);
  for (const Sequence& known : kSequences) {
    if (known.text == sequence) return Key{known.kind, {}};
  }
  return std::nullopt;
}

std::optional<Key> KeyDecoder::take_text() {
  size_t end = 0;
  while (end < bytes_.size() && is_plain(bytes_[end])) ++end;
  // An incomplete character waits for its rest, unless something else follows already.
  if (end == bytes_.size()) end = complete_utf8_prefix(bytes_);
  if (end == 0) return std::nullopt;
  return taken(end, {KeyKind::Text, bytes_.substr(0, end)});
}

std::optional<Key> KeyDecoder::take_paste() {
  const size_t end = bytes_.find(kPasteEnd, searched_);
  if (end == std::string::npos) {
    searched_ = bytes_.size() < kPasteEnd.size() ? 0 : bytes_.size() - kPasteEnd.size();
    return std::nullopt;
  }
  Key key{KeyKind::Paste, {}};
  for (size_t i = 0; i < end; ++i) {  // newlines as in files
    if (bytes_[i] != '\r') {
      key.text += bytes_[i];
    } else if (i + 1 == end || bytes_[i + 1] != '\n') {
      key.text += '\n';
    }
  }
  is_pasting_ = false;
  return taken(end + kPasteEnd.size(), std::move(key));
}

int KeyDecoder::patience() const {
  if (is_pasting_) return kPastePatience;
  return bytes_.empty() ? -1 : kEscapePatience;
}

void KeyDecoder::give_up() {
  if (is_pasting_) {
    bytes_ += kPasteEnd;
    return;
  }
  if (bytes_.empty()) return;
  if (bytes_[0] == kEscape) {
    // For "\x1B[" alone, the bracket is not text, either.
    bytes_.erase(0, sequence_size(std::string_view(bytes_).substr(1)) == 0 ? bytes_.size() : 1);
    return;
  }
  bytes_.clear();  // an incomplete character
  append_utf8(bytes_, 0xFFFD);
}

}  // namespace pippin::terminal
