#include "pippin/speech/recognition/recognized_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/speech/compression_ratio.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin::speech {
namespace {

bool begins_unspaced_script(std::string_view text) {
  constexpr std::array<std::pair<char32_t, char32_t>, 9> kRanges = {{
      {0x0E00, 0x0E4F},    // Thai, without its digits
      {0x0E80, 0x0ECF},    // Lao
      {0x1000, 0x103F},    // Burmese
      {0x1780, 0x17D3},    // Khmer
      {0x3040, 0x30FF},    // Hiragana and Katakana
      {0x3400, 0x4DBF},    // Han
      {0x4E00, 0x9FFF},    //
      {0xF900, 0xFAFF},    //
      {0x20000, 0x323AF},  //
  }};
  size_t end = 0;
  const char32_t c = text.empty() ? 0 : decode_utf8(text, end);
  return std::any_of(kRanges.begin(), kRanges.end(), [&](const auto& range) {
    return c >= range.first && c <= range.second && !tokenizers::is_mark(c);
  });
}

bool ends_sentence(std::string_view text) {
  // A closing quote or bracket may follow.
  for (const std::string_view mark : {"\"", "'", ")", "]", "”", "’", "»", "」", "』"}) {
    if (text.ends_with(mark)) {
      text.remove_suffix(mark.size());
      break;
    }
  }
  constexpr std::array<std::string_view, 11> kMarks = {".",  "!",  "?", "…", "。", "！",
                                                       "？", "．", "।", "؟", "۔"};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return text.ends_with(mark); });
}

std::string repaired(std::string_view bytes) {
  std::string text;
  tokenizers::append_utf8_lossy(text, bytes, true);
  return text;
}

}  // namespace

std::vector<RecognizedWord> recognized_words(std::span<const RecognizedToken> tokens,
                                             const TokenTexts& texts, double offset) {
  std::vector<RecognizedWord> words;
  bool is_blank = false;  // the last word consists of spaces so far
  constexpr double kLeast = 1e-30;
  for (const RecognizedToken& token : tokens) {
    const std::string piece = texts(token.id);
    if (piece.empty()) continue;
    const bool has_text = !trimmed(piece).empty();
    const bool begins_word =
        words.empty() || (!is_blank && (piece.starts_with(' ') || begins_unspaced_script(piece)));
    if (begins_word) {
      words.emplace_back();
      is_blank = true;
    }
    RecognizedWord& last = words.back();
    if (has_text) {
      if (std::exchange(is_blank, false)) last.word.start = offset + token.start;
      last.word.end = offset + token.end;
    }
    last.word.text += piece;
    last.word.probability += token.probability;
    last.tokens.push_back(token.id);
    last.log_probability += std::log(std::max(token.probability, kLeast));
  }
  if (is_blank) {  // a space after the last word
    const RecognizedWord rest = std::move(words.back());
    words.pop_back();
    if (!words.empty()) {
      RecognizedWord& last = words.back();
      last.tokens.insert(last.tokens.end(), rest.tokens.begin(), rest.tokens.end());
      last.word.probability += rest.word.probability;
      last.log_probability += rest.log_probability;
    }
  }
  for (RecognizedWord& word : words) {
    word.word.text = repaired(word.word.text);
    word.word.probability /= static_cast<double>(word.tokens.size());
  }
  if (!words.empty()) {
    std::string& first = words.front().word.text;
    if (!first.starts_with(' ') && !begins_unspaced_script(first)) first.insert(0, 1, ' ');
  }
  return words;
}

std::vector<Segment> recognized_segments(std::span<const RecognizedWord> words, bool splits,
                                         bool with_words, double offset, int64_t first_id) {
  std::vector<Segment> segments;
  const auto finish = [](Segment& segment) {
    segment.avg_logprob /= static_cast<double>(segment.tokens.size());
    segment.compression_ratio = compression_ratio(trimmed(segment.text));
    segment.start = round_time(segment.start);
    segment.end = round_time(segment.end);
  };
  constexpr double kFramesPerSecond = 100;
  for (size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i].word;
    const Word* const before = i > 0 ? &words[i - 1].word : nullptr;
    const bool begins =
        before == nullptr ||
        (splits && (word.start - before->end >= kPauseOfSegments || ends_sentence(before->text)));
    if (begins) {
      if (!segments.empty()) finish(segments.back());
      Segment& segment = segments.emplace_back();
      segment.id = first_id + std::ssize(segments) - 1;
      segment.seek = std::llround(offset * kFramesPerSecond);
      segment.start = word.start;
      segment.no_speech_prob = std::numeric_limits<double>::quiet_NaN();
    }
    Segment& segment = segments.back();
    segment.end = word.end;
    segment.text += word.text;
    segment.tokens.insert(segment.tokens.end(), words[i].tokens.begin(), words[i].tokens.end());
    segment.avg_logprob += words[i].log_probability;
    if (!with_words) continue;
    segment.words.push_back(
        {word.text, round_time(word.start), round_time(word.end), word.probability});
  }
  if (!segments.empty()) finish(segments.back());
  return segments;
}

}  // namespace pippin::speech
