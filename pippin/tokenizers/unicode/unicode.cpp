#include "pippin/tokenizers/unicode/unicode.h"

#include <cstdlib>
#include <memory>

#include <utf8proc.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::tokenizers {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

}  // namespace

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
           (c >= 0x7B && c <= 0x7E);
  }
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_mark(char32_t c) {
  if (c < 0x300) return false;
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t c) {
  return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN;
}

bool is_other(char32_t c) {
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
         kind == UTF8PROC_CATEGORY_CO;
}

bool is_word(char32_t c) {
  if (c < 0x80) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  }
  if (c == 0x200C || c == 0x200D) return true;
  // Enclosed letters, symbols that count as alphabetic.
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
      (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189)) {
    return true;
  }
  const auto kind = category(c);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) ||
         kind == UTF8PROC_CATEGORY_PC;
}

std::string normal_form(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  int options = UTF8PROC_STABLE;
  const bool compose = form == NormalForm::Nfc || form == NormalForm::Nfkc;
  options |= compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::Nfkc || form == NormalForm::Nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &raw,
                                             static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(raw, &std::free);
  if (size < 0) {
    fail(ErrorCode::Internal, "Unicode normalization failed: {}", utf8proc_errmsg(size));
  }
  return std::string(reinterpret_cast<const char*>(raw), static_cast<size_t>(size));
}

std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    if (c == 0x130) {  // the only character whose lower case has two: i and a dot above
      out += "i\xCC\x87";
    } else {
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  }
  return out;
}

size_t previous_character(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0) {
    --begin;
    if ((static_cast<unsigned char>(text[begin]) & 0xC0) != 0x80) break;
  }
  return begin;
}

size_t grapheme_end(std::string_view text, size_t begin) {
  size_t end = begin;
  auto last = static_cast<utf8proc_int32_t>(decode_utf8(text, end));
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    size_t next = end;
    const auto c = static_cast<utf8proc_int32_t>(decode_utf8(text, next));
    if (utf8proc_grapheme_break_stateful(last, c, &state)) break;
    last = c;
    end = next;
  }
  return end;
}

size_t append_utf8_lossy(std::string& out, std::string_view bytes, bool final) {
  size_t i = 0;
  while (i < bytes.size()) {
    size_t plain = i;
    while (plain < bytes.size() && static_cast<unsigned char>(bytes[plain]) < 0x80) ++plain;
    out += bytes.substr(i, plain - i);
    i = plain;
    if (i == bytes.size()) break;
    const auto lead = static_cast<unsigned char>(bytes[i]);
    size_t length = 1;
    unsigned char low = 0x80, high = 0xBF;  // of the second byte
    if (lead >= 0xC2 && lead <= 0xDF) {
      length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      length = 3;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      length = 4;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else if (lead >= 0x80) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    size_t good = 1;
    while (good < length && i + good < bytes.size()) {
      const auto next = static_cast<unsigned char>(bytes[i + good]);
      if (next < low || next > high) break;
      low = 0x80, high = 0xBF;
      ++good;
    }
    if (good == length) {
      out += bytes.substr(i, length);
    } else if (i + good == bytes.size() && !final) {
      break;
    } else {
      out += "\xEF\xBF\xBD";
    }
    i += good;
  }
  return i;
}

}  // namespace pippin::tokenizers
