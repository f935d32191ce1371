#include "pippin/speech/word_times.h"

#include <algorithm>
#include <cmath>

#include "pippin/speech/time_warping.h"
#include "pippin/speech/token_scores.h"

namespace pippin::speech {
namespace {

constexpr int64_t kFilterWidth = 7;

// Mean over the heads of the attention, normalized over tokens and smoothed over positions;
// negated, for the rows that predict the text and its end.
Costs alignment_costs(const Alignment& attention, int64_t before, int64_t positions) {
  const int64_t tokens = attention.tokens;
  Costs costs;
  costs.rows = tokens - before - 1;
  costs.columns = positions;
  costs.values.resize(static_cast<size_t>(costs.rows * positions));
  std::vector<float> head(static_cast<size_t>(tokens * positions));
  for (int64_t h = 0; h < attention.heads; ++h) {
    for (int64_t t = 0; t < tokens; ++t) {
      const float* row = attention.weights.data() + (h * tokens + t) * attention.positions;
      double sum = 0;
      for (int64_t p = 0; p < positions; ++p) sum += row[p];
      for (int64_t p = 0; p < positions; ++p) {
        head[static_cast<size_t>(t * positions + p)] =
            sum > 0 ? static_cast<float>(row[p] / sum) : 0.0F;
      }
    }
    for (int64_t p = 0; p < positions; ++p) {
      double sum = 0;
      double squares = 0;
      const auto at = [&](int64_t t) -> float& {
        return head[static_cast<size_t>(t * positions + p)];
      };
      for (int64_t t = 0; t < tokens; ++t) sum += at(t);
      const double mean = sum / static_cast<double>(tokens);
      for (int64_t t = 0; t < tokens; ++t) squares += (at(t) - mean) * (at(t) - mean);
      const double deviation = std::sqrt(squares / static_cast<double>(tokens));
      for (int64_t t = 0; t < tokens; ++t) {
        at(t) = deviation > 0 ? static_cast<float>((at(t) - mean) / deviation) : 0.0F;
      }
    }
    for (int64_t row = 0; row < costs.rows; ++row) {
      const auto first = static_cast<size_t>((row + before) * positions);
      const std::span<float> filtered =
          std::span(head).subspan(first).first(static_cast<size_t>(positions));
      median_filter(filtered, kFilterWidth);
      for (int64_t p = 0; p < positions; ++p) {
        costs.values[static_cast<size_t>(row * positions + p)] -=
            filtered[static_cast<size_t>(p)] / static_cast<float>(attention.heads);
      }
    }
  }
  return costs;
}

double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  const size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

// The usual length of the words of a window, in seconds.
struct Durations {
  double median = 0, most = 0;
};

Durations measure(const std::vector<TokenWord>& words) {
  constexpr double kMostMedian = 0.7;
  std::vector<double> durations;
  durations.reserve(words.size());
  for (const TokenWord& word : words) {
    if (word.end != word.start) durations.push_back(word.end - word.start);
  }
  const double middle = std::min(kMostMedian, median(std::move(durations)));
  return {middle, 2 * middle};
}

// The pause at the end of a sentence belongs to no word.
void shorten_at_sentence_ends(std::vector<TokenWord>& words, double most) {
  constexpr std::string_view kMarks = ".。!！?？";
  const auto is_mark = [&](const TokenWord& word) {
    return kMarks.find(word.text) != std::string_view::npos;
  };
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].end - words[i].start <= most) continue;
    if (is_mark(words[i])) {
      words[i].end = words[i].start + most;
    } else if (is_mark(words[i - 1])) {
      words[i].start = words[i].end - most;
    }
  }
}

// Shortens long words after a pause, and makes the segment's times agree with its words'.
void fit_segment(Segment& segment, const Durations& durations, double last_speech) {
  std::vector<Word>& words = segment.words;
  Word& first = words.front();
  const bool has_second = words.size() > 1;
  const bool is_after_pause = first.end - last_speech > durations.median * 4;
  const bool is_long = first.end - first.start > durations.most ||
                       (has_second && words[1].end - first.start > durations.most * 2);
  if (is_after_pause && is_long) {
    if (has_second && words[1].end - words[1].start > durations.most) {
      const double boundary = std::max(words[1].end / 2, words[1].end - durations.most);
      first.end = boundary;
      words[1].start = boundary;
    }
    first.start = std::max(0.0, first.end - durations.most);
  }
  constexpr double kTolerance = 0.5;
  if (segment.start < first.end && segment.start - kTolerance > first.start) {
    first.start = std::max(0.0, std::min(first.end - durations.median, segment.start));
  } else {
    segment.start = first.start;
  }
  Word& last = words.back();
  if (segment.end > last.start && segment.end + kTolerance < last.end) {
    last.end = std::max(last.start + durations.median, segment.end);
  } else {
    segment.end = last.end;
  }
  for (Word& word : words) {
    word.start = round_time(word.start);
    word.end = round_time(word.end);
  }
  segment.start = round_time(segment.start);
  segment.end = round_time(segment.end);
}

}  // namespace

void set_word_times(std::vector<TokenWord>& words, const Alignment& attention, int64_t before,
                    int64_t positions, const SpecialTokens& tokens, double seconds_per_position) {
  positions = std::min(positions, attention.positions);
  if (words.empty() || positions == 0) return;
  const std::vector<int64_t> starts = row_starts(alignment_costs(attention, before, positions));
  const size_t vocab = attention.logits.size() / static_cast<size_t>(attention.tokens);
  size_t row = 0;  // of the first token of the word
  for (TokenWord& word : words) {
    double sum = 0;
    for (size_t i = 0; i < word.tokens.size(); ++i) {
      const size_t index = static_cast<size_t>(before) + row + i;
      const auto logits = std::span(attention.logits)
                              .subspan(index * vocab, static_cast<size_t>(tokens.end_of_text));
      sum += std::exp(logits[static_cast<size_t>(word.tokens[i])] - log_sum_exp(logits));
    }
    word.probability = sum / static_cast<double>(word.tokens.size());
    word.start = static_cast<double>(starts[row]) * seconds_per_position;
    row += word.tokens.size();
    word.end = static_cast<double>(starts[row]) * seconds_per_position;
  }
}

void add_words(std::span<Segment> segments, TimedWindow window, const TranscribeOptions& options) {
  std::vector<int32_t> text;
  std::vector<size_t> counts;
  counts.reserve(segments.size());
  for (const Segment& segment : segments) {
    const size_t before = text.size();
    std::copy_if(segment.tokens.begin(), segment.tokens.end(), std::back_inserter(text),
                 [&](int32_t id) { return window.tokens.is_text(id); });
    counts.push_back(text.size() - before);
  }
  if (text.empty()) return;
  std::vector<int32_t> ids = window.start_tokens;
  const std::int64_t before = std::ssize(ids);
  ids.push_back(window.tokens.no_timestamps);
  ids.insert(ids.end(), text.begin(), text.end());
  ids.push_back(window.tokens.end_of_text);
  std::vector<TokenWord> words = split_words(window.tokenizer, text, window.language);
  const WindowShape shape = window.model.shape();
  set_word_times(words, window.model.align(window.decoder, ids), before,
                 window.frames / shape.frames_per_position(), window.tokens,
                 shape.seconds_per_position());
  const Durations durations = measure(words);
  if (durations.median > 0) shorten_at_sentence_ends(words, durations.most);
  merge_punctuation(words, options.prepend_punctuations, options.append_punctuations);
  size_t next = 0;
  for (size_t s = 0; s < segments.size(); ++s) {
    Segment& segment = segments[s];
    for (size_t used = 0; next < words.size() && used < counts[s]; ++next) {
      const TokenWord& word = words[next];
      used += word.tokens.size();
      if (word.text.empty()) continue;
      segment.words.push_back({word.text, round_time(window.offset + word.start),
                               round_time(window.offset + word.end), word.probability});
    }
    if (segment.words.empty()) continue;
    fit_segment(segment, durations, window.last_speech);
    window.last_speech = segment.end;
  }
}

}  // namespace pippin::speech
