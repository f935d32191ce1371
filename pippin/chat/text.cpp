#include "pippin/chat/text.h"

#include <algorithm>

#include "pippin/base/text.h"
#include "pippin/chat/characters.h"

namespace pippin::chat {
namespace {

size_t previous(std::string_view text, size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

}  // namespace

std::string_view strip(std::string_view text, const std::string* characters, bool left,
                       bool right) {
  const auto strippable = [&](std::string_view one) {
    size_t zero = 0;
    if (characters == nullptr) return is_space(decode_utf8(one, zero));
    return characters->find(one) != std::string::npos;
  };
  while (left && !text.empty()) {
    size_t end = 0;
    decode_utf8(text, end);
    if (!strippable(text.substr(0, end))) break;
    text.remove_prefix(end);
  }
  while (right && !text.empty()) {
    const size_t begin = previous(text, text.size());
    if (!strippable(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

std::string_view lstrip(std::string_view text) {
  return strip(text, nullptr, true, false);
}
std::string_view rstrip(std::string_view text) {
  return strip(text, nullptr, false, true);
}

int64_t text_length(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

size_t byte_offset(std::string_view text, size_t index) {
  for (size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (index-- == 0) return at;
  }
  return text.size();
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    decode_utf8(text, i);
    result.push_back(text.substr(begin, i - begin));
  }
  return result;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        int64_t most) {
  std::string out;
  size_t i = 0;
  if (from.empty()) {  // between all characters, and at both ends
    while (most != 0) {
      --most;
      out += to;
      if (i >= text.size()) break;
      const size_t begin = i;
      decode_utf8(text, i);
      out += text.substr(begin, i - begin);
    }
    return out.append(text.substr(i));
  }
  for (size_t found = text.find(from); found != std::string_view::npos && most != 0;
       found = text.find(from, i)) {
    --most;
    out += text.substr(i, found - i);
    out += to;
    i = found + from.size();
  }
  return out.append(text.substr(i));
}

std::vector<std::string> split(std::string_view text, const std::string* separator, int64_t most,
                               bool from_right) {
  std::vector<std::string> parts;
  if (separator == nullptr) text = from_right ? rstrip(text) : lstrip(text);
  while (most != 0) {
    if (separator == nullptr) {
      // One run of whitespace, from the left or from the right.
      if (text.empty()) break;
      size_t at = from_right ? text.size() : 0;
      while (from_right ? at > 0 : at < text.size()) {
        size_t next = from_right ? previous(text, at) : at;
        const size_t begin = next;
        const char32_t c = decode_utf8(text, next);
        if (is_space(c)) break;
        at = from_right ? begin : next;
      }
      if (from_right) {
        parts.emplace_back(text.substr(at));
        text = rstrip(text.substr(0, at));
      } else {
        parts.emplace_back(text.substr(0, at));
        text = lstrip(text.substr(at));
      }
    } else {
      const size_t at = from_right ? text.rfind(*separator) : text.find(*separator);
      if (at == std::string_view::npos) break;
      if (from_right) {
        parts.emplace_back(text.substr(at + separator->size()));
        text = text.substr(0, at);
      } else {
        parts.emplace_back(text.substr(0, at));
        text = text.substr(at + separator->size());
      }
    }
    --most;
  }
  if (separator == nullptr) {
    text = from_right ? rstrip(text) : text;
    if (!text.empty()) parts.emplace_back(text);
  } else {
    parts.emplace_back(text);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t at = i;
    const char32_t c = decode_utf8(text, i);
    const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                      c == 0x2028 || c == 0x2029;
    if (!ends) continue;
    if (c == '\r' && i < text.size() && text[i] == '\n') ++i;
    lines.emplace_back(text.substr(begin, (keep_ends ? i : at) - begin));
    begin = i;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

std::string expand_tabs(std::string_view text, int64_t width) {
  std::string out;
  int64_t column = 0;
  for (const char c : text) {
    if (c == '\t') {
      const int64_t spaces = width > 0 ? width - column % width : 0;
      out.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
      continue;
    }
    out += c;
    if (c == '\n' || c == '\r') {
      column = 0;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++column;
    }
  }
  return out;
}

}  // namespace pippin::chat
