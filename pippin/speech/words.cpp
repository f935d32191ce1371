#include "pippin/speech/words.h"

#include <utility>

#include "pippin/base/text.h"
#include "pippin/speech/languages.h"
#include "pippin/speech/segments.h"

namespace pippin::speech {
namespace {

// Replaces bytes that are not UTF-8 with U+FFFD.
std::string as_utf8(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size();) append_utf8(text, decode_utf8(bytes, i));
  return text;
}

// Whether a text begins with a byte that is not part of a character.
bool starts_broken(std::string_view text) {
  constexpr std::string_view kReplacement = "\uFFFD";
  size_t end = 0;
  return !text.empty() && decode_utf8(text, end) == 0xFFFD && !text.starts_with(kReplacement);
}

std::vector<TokenWord> split_characters(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  std::string all;
  for (const int32_t id : ids) {
    pieces.push_back(tokenizer.token_bytes(id));
    all += pieces.back();
  }
  std::vector<TokenWord> words;
  TokenWord word;
  std::string bytes;
  size_t begin = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    word.tokens.push_back(ids[i]);
    bytes += pieces[i];
    const size_t whole = complete_utf8_prefix(bytes);
    // Bytes that the next tokens do not complete either end here.
    const bool is_broken = starts_broken(std::string_view(all).substr(begin + whole));
    if (whole < bytes.size() && !is_broken && i + 1 < ids.size()) continue;
    word.text = as_utf8(bytes);
    words.push_back(std::exchange(word, {}));
    begin += std::exchange(bytes, {}).size();
  }
  return words;
}

bool contains(std::string_view marks, std::string_view text) {
  return marks.find(text) != std::string_view::npos;
}

void merge(TokenWord& from, TokenWord& into, bool before) {
  into.text = before ? from.text + into.text : into.text + from.text;
  into.tokens.insert(before ? into.tokens.begin() : into.tokens.end(), from.tokens.begin(),
                     from.tokens.end());
  from.text.clear();
  from.tokens.clear();
}

}  // namespace

std::vector<TokenWord> split_words(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                                   std::string_view language) {
  constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  std::vector<TokenWord> parts = split_characters(tokenizer, ids);
  if (has_no_spaces(language)) return parts;
  std::vector<TokenWord> words;
  for (TokenWord& part : parts) {
    const bool begins_word =
        words.empty() || part.text.starts_with(' ') || contains(kPunctuation, trimmed(part.text));
    if (begins_word) {
      words.push_back(std::move(part));
    } else {
      merge(part, words.back(), false);
    }
  }
  return words;
}

void merge_punctuation(std::vector<TokenWord>& words, std::string_view prepended,
                       std::string_view appended) {
  if (words.empty()) return;
  size_t following = words.size() - 1;
  for (size_t i = words.size() - 1; i-- > 0;) {
    if (words[i].text.starts_with(' ') && contains(prepended, trimmed(words[i].text))) {
      merge(words[i], words[following], true);
    } else {
      following = i;
    }
  }
  size_t previous = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[previous].text.ends_with(' ') && contains(appended, words[i].text)) {
      merge(words[i], words[previous], false);
    } else {
      previous = i;
    }
  }
}

}  // namespace pippin::speech
