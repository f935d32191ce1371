#include "pippin/chat/word_wrap.h"

#include <algorithm>

#include "pippin/base/text.h"
#include "pippin/chat/characters.h"

namespace pippin::chat {
namespace {

using View = std::u32string_view;

std::u32string decoded(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) out += decode_utf8(text, i);
  return out;
}

std::string encoded(View text) {
  std::string out;
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

// Characters at which lines break; other Unicode spaces are parts of words.
bool is_gap(char32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_blank(View chunk) {
  return std::all_of(chunk.begin(), chunk.end(), is_space);
}

// Splits text into words, parts of words up to a hyphen, dashes and gaps, like textwrap's
// wordsep_re.
class Chunks {
 public:
  explicit Chunks(View text) : text_(text) {}

  std::vector<View> split() const {
    std::vector<View> chunks;
    for (size_t i = 0; i < text_.size();) {
      const size_t end = end_of_chunk(i);
      chunks.push_back(text_.substr(i, end - i));
      i = end;
    }
    return chunks;
  }

 private:
  bool in(size_t i) const { return i < text_.size(); }
  bool is_word(size_t i) const { return in(i) && (is_alnum(text_[i]) || text_[i] == '_'); }
  bool is_letter(size_t i) const { return is_word(i) && !is_decimal(text_[i]); }
  bool is_hyphen(size_t i) const { return in(i) && text_[i] == '-'; }
  bool is_word_or_mark(size_t i) const {
    return is_word(i) || (in(i) && View(U"!\"'&.,?").find(text_[i]) != View::npos);
  }

  // Returns the end of the dashes between two words that begin at `i`; `i` if none exist.
  size_t end_of_dash(size_t i) const {
    if (i == 0 || !is_hyphen(i) || !is_word_or_mark(i - 1)) return i;
    size_t end = i;
    while (is_hyphen(end)) ++end;
    return end - i >= 2 && is_word(end) ? end : i;
  }

  bool breaks_after_hyphen(size_t i) const {
    if (!is_hyphen(i)) return false;
    const bool after = (i >= 2 && is_letter(i - 2) && is_letter(i - 1)) ||
                       (i >= 3 && is_letter(i - 3) && is_hyphen(i - 2) && is_word_or_mark(i - 1));
    return after && is_letter(i + 1) && is_letter(is_hyphen(i + 2) ? i + 3 : i + 2);
  }

  size_t end_of_chunk(size_t begin) const {
    size_t i = begin;
    while (in(i) && is_gap(text_[i])) ++i;
    if (i > begin) return i;
    i = end_of_dash(begin);
    if (i > begin) return i;
    for (i = begin + 1; in(i) && !is_gap(text_[i]); ++i) {
      if (breaks_after_hyphen(i)) return i + 1;
      if (end_of_dash(i) > i) return i;
    }
    return i;
  }

  View text_;
};

std::vector<View> chunks_at_gaps(View text) {
  std::vector<View> chunks;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    while (i < text.size() && is_gap(text[i]) == is_gap(text[begin])) ++i;
    chunks.push_back(text.substr(begin, i - begin));
  }
  return chunks;
}

// Returns how much of a word fits on a line with `space` left.
size_t end_of_part(View word, size_t space, bool break_on_hyphens) {
  if (!break_on_hyphens || word.size() <= space || space == 0) return space;
  const size_t hyphen = word.rfind(U'-', space - 1);
  if (hyphen == View::npos || hyphen == 0) return space;
  const View before = word.substr(0, hyphen);
  return before.find_first_not_of(U'-') == View::npos ? space : hyphen + 1;
}

}  // namespace

std::vector<std::string> wrap_words(std::string_view text, const WrapOptions& options) {
  const std::u32string characters = decoded(text);
  std::vector<View> chunks =
      options.break_on_hyphens ? Chunks(characters).split() : chunks_at_gaps(characters);
  const auto width = static_cast<size_t>(options.width);
  std::vector<std::string> lines;
  for (size_t next = 0; next < chunks.size();) {
    if (!lines.empty() && is_blank(chunks[next])) ++next;
    std::vector<View> line;
    size_t length = 0;
    while (next < chunks.size() && length + chunks[next].size() <= width) {
      length += chunks[next].size();
      line.push_back(chunks[next++]);
    }
    if (next < chunks.size() && chunks[next].size() > width) {
      if (options.break_long_words) {
        const size_t end = end_of_part(chunks[next], width - length, options.break_on_hyphens);
        line.push_back(chunks[next].substr(0, end));  // may be empty, as in textwrap
        chunks[next].remove_prefix(end);
      } else if (line.empty()) {
        line.push_back(chunks[next++]);
      }
    }
    if (!line.empty() && is_blank(line.back())) line.pop_back();
    if (line.empty()) continue;
    std::string made;
    for (const View chunk : line) made += encoded(chunk);
    lines.push_back(std::move(made));
  }
  return lines;
}

}  // namespace pippin::chat
