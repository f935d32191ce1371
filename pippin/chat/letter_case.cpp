// Case conversion of texts, by Python's rules.
#include "pippin/base/text.h"
#include "pippin/chat/characters.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

constexpr char32_t kSigma = 0x3A3;

// Converts to lower case from left to right: a sigma at the end of a word has its own form.
class Lowering {
 public:
  explicit Lowering(std::string_view text) : text_(text) {}

  // `c` ends before `end`. Every character of the text must be passed to append() or skip().
  void append(std::string& out, char32_t c, size_t end) {
    if (c != kSigma) {
      append_lower(out, c);
    } else {
      append_utf8(out, in_word_ && !word_goes_on(end) ? U'\u03C2' : U'\u03C3');
    }
    skip(c);
  }
  void skip(char32_t c) {
    if (!is_case_ignorable(c)) in_word_ = is_cased(c);
  }

 private:
  // Linear overall: ignored characters follow only one sigma.
  bool word_goes_on(size_t from) const {
    while (from < text_.size()) {
      size_t next = from;
      const char32_t c = decode_utf8(text_, next);
      if (!is_case_ignorable(c)) return is_cased(c);
      from = next;
    }
    return false;
  }

  std::string_view text_;
  bool in_word_ = false;
};

// Returns whether all cased letters are `wanted`, and there is at least one.
template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
bool is_all(std::string_view text) {
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    if (other(c) || is_title(c)) return false;
    found = found || wanted(c);
  }
  return found;
}

}  // namespace

std::string upper(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) append_upper(out, decode_utf8(text, i));
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  Lowering lowering(text);
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    lowering.append(out, c, i);
  }
  return out;
}

std::string swap_case(std::string_view text) {
  std::string out;
  Lowering lowering(text);
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    if (is_upper(c)) {
      lowering.append(out, c, i);
      continue;
    }
    lowering.skip(c);
    if (is_lower(c)) {
      append_upper(out, c);
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

std::string fold_case(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) append_folded(out, decode_utf8(text, i));
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out;
  Lowering lowering(text);
  for (size_t i = 0; i < text.size();) {
    const bool first = i == 0;
    const char32_t c = decode_utf8(text, i);
    if (first) {
      append_title(out, c);
      lowering.skip(c);
    } else {
      lowering.append(out, c, i);
    }
  }
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  Lowering lowering(text);
  bool in_word = false;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    if (in_word) {
      lowering.append(out, c, i);
    } else {
      append_title(out, c);
      lowering.skip(c);
    }
    in_word = is_cased(c);
  }
  return out;
}

bool is_upper_text(std::string_view text) {
  return is_all<is_upper, is_lower>(text);
}

bool is_lower_text(std::string_view text) {
  return is_all<is_lower, is_upper>(text);
}

bool is_title_text(std::string_view text) {
  bool found = false, in_word = false;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    const bool begins = is_upper(c) || is_title(c);
    if (begins ? in_word : is_lower(c) && !in_word) return false;
    in_word = begins || is_lower(c);
    found = found || in_word;
  }
  return found;
}

}  // namespace pippin::chat
