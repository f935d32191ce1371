#include "pippin/model_output/marks.h"

#include <algorithm>
#include <cctype>

namespace pippin::model_output {

std::string_view mark_of(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

size_t skip_blanks(std::string_view text, size_t position) {
  return std::min(text.find_first_not_of(kBlanks, position), text.size());
}

Found take_mark(std::string_view text, size_t& position, std::string_view mark) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  size_t at = position;
  char last = 0;
  mark = mark_of(mark);
  for (size_t i = 0; i < mark.size(); ++i) {
    if (kBlanks.find(mark[i]) != std::string_view::npos) {
      last = 0;
      continue;
    }
    // Blanks may occur anywhere except within words.
    if (!is_word(last) || !is_word(mark[i])) at = skip_blanks(text, at);
    if (at == text.size()) return Found::More;
    if (text[at++] != mark[i]) return Found::No;
    last = mark[i];
  }
  position = at;
  return Found::Yes;
}

MarkPlace find_mark(std::string_view text, size_t from, std::string_view mark) {
  mark = mark_of(mark);
  const std::string_view word = mark.substr(0, mark.find_first_of(kBlanks));
  if (word.empty()) return {};
  for (size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    size_t end = at;
    if (take_mark(text, end, mark) == Found::Yes) return {at, end};
  }
  return {};
}

size_t held_back(std::string_view text, std::string_view mark) {
  for (size_t size = std::min(mark.empty() ? 0 : mark.size() - 1, text.size()); size > 0; --size) {
    if (text.ends_with(mark.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace pippin::model_output
