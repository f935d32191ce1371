#include "pippin/chat/html_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_map>

#include "pippin/base/text.h"
#include "pippin/chat/runtime.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

struct Number {
  uint32_t from;
  char32_t to;
};
#include "pippin/chat/html_entities.inc"

constexpr size_t kMostName = 32;  // characters, as in html.unescape's pattern

using Names = std::unordered_map<std::string_view, std::string_view>;

Names parse_names() {
  Names names;
  for (std::string_view rest = kNames; !rest.empty();) {
    const size_t equals = rest.find('=');
    const size_t end = rest.find(' ', equals);
    names.emplace(rest.substr(0, equals), rest.substr(equals + 1, end - equals - 1));
    rest.remove_prefix(end + 1);
  }
  return names;
}

// "amp;" is stored as "amp", because it is also valid without ";".
const std::string_view* find_name(std::string_view name) {
  static const Names names = parse_names();
  auto found = names.find(name);
  if (found == names.end() && name.ends_with(';')) {
    found = names.find(name.substr(0, name.size() - 1));
  }
  return found == names.end() ? nullptr : &found->second;
}

void append_number(std::string& out, uint32_t number) {
  const Number* other = std::find_if(std::begin(kReplacedNumbers), std::end(kReplacedNumbers),
                                     [&](const Number& one) { return one.from == number; });
  if (other != std::end(kReplacedNumbers)) {
    append_utf8(out, other->to);
    return;
  }
  if ((number >= 0xD800 && number <= 0xDFFF) || number > 0x10FFFF) {
    append_utf8(out, 0xFFFD);
    return;
  }
  const bool control =
      (number < 0x20 && number != '\t' && number != '\n' && number != '\f') || number == 0x7F;
  const bool none = (number >= 0xFDD0 && number <= 0xFDEF) || (number & 0xFFFE) == 0xFFFE;
  if (!control && !none) append_utf8(out, number);
}

// Returns 16 if `c` is not a digit.
uint32_t digit_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint32_t>(c - 'A' + 10);
  return 16;
}

// Decodes "#60;" at the start of `text` and returns its length, or 0 if it is not one.
size_t append_numbered(std::string& out, std::string_view text) {
  constexpr uint32_t kTooLarge = 0x110000;
  size_t i = 1;
  const bool hexadecimal = i < text.size() && (text[i] == 'x' || text[i] == 'X');
  const uint32_t base = hexadecimal ? 16 : 10;
  if (hexadecimal) ++i;
  const size_t begin = i;
  uint32_t number = 0;
  for (; i < text.size() && digit_value(text[i]) < base; ++i) {
    number = std::min(number * base + digit_value(text[i]), kTooLarge);
  }
  if (i == begin) return 0;
  constexpr size_t kMostDigits = 4300;  // of Python's int()
  if (!hexadecimal && i - begin > kMostDigits) {
    template_error("a character's number has {} digits, more than {}", i - begin, kMostDigits);
  }
  append_number(out, number);
  return i < text.size() && text[i] == ';' ? i + 1 : i;
}

// Decodes "lt;" and the like: the longest matching name.
size_t append_named(std::string& out, std::string_view text) {
  size_t end = 0;
  for (size_t count = 0; count < kMostName && end < text.size(); ++count) {
    if (std::string_view("\t\n\f <&#;").find(text[end]) != std::string_view::npos) break;
    decode_utf8(text, end);
  }
  if (end == 0) return 0;
  if (end < text.size() && text[end] == ';') ++end;
  const std::string_view whole = text.substr(0, end);
  if (const auto* found = find_name(whole)) {
    out += *found;
    return end;
  }
  for (size_t size = std::min(end - 1, kMostName); size > 1; --size) {
    if (const auto* found = find_name(whole.substr(0, size))) {
      out += *found;
      return size;
    }
  }
  return 0;
}

// Returns the length of the rest of a comment after its "<!--", whose "--" may also belong to its
// end.
size_t comment_end(std::string_view rest) {
  if (rest.starts_with('>')) return 1;
  if (rest.starts_with("->")) return 2;
  const size_t end = rest.find("-->");
  return end == std::string_view::npos ? end : end + 3;
}

// Removes text between "<!--" and "-->". Removing one comment may form another.
std::string without_comments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    out += text[i++];
    if (!out.ends_with("<!--")) continue;
    const std::string_view rest = text.substr(i);
    const size_t end = comment_end(rest);
    if (end == std::string_view::npos) return out.append(rest);
    out.resize(out.size() - 4);
    i += end;
  }
  return out;
}

std::string without_tags(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t begin = text.find('<');
    const size_t end = begin == std::string_view::npos ? begin : text.find('>', begin);
    if (end == std::string_view::npos) break;
    out += text.substr(0, begin);
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

}  // namespace

std::string unescape_html(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t begin = text.find('&');
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin + 1);
    const size_t used =
        text.starts_with('#') ? append_numbered(out, text) : append_named(out, text);
    if (used == 0) out += '&';
    text.remove_prefix(used);
  }
  return out;
}

std::string strip_tags(std::string_view text) {
  std::string out;
  for (const auto& word : split(without_tags(without_comments(text)), nullptr, -1, false)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return unescape_html(out);
}

}  // namespace pippin::chat
