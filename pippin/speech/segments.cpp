#include "pippin/speech/segments.h"

#include <cmath>

#include <fmt/format.h>

namespace pippin::speech {

std::string decode_text(const Tokenizer& tokenizer, const SpecialTokens& tokens,
                        std::span<const int32_t> ids) {
  std::vector<int32_t> text;
  text.reserve(ids.size());
  for (const int32_t id : ids) {
    if (tokens.is_text(id)) text.push_back(id);
  }
  return tokenizer.decode(text);
}

std::vector<int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(fmt::format(" {}", trimmed(text)), false);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

double round_time(double seconds) {
  return std::round(seconds * 100) / 100;
}

WindowCut cut_window(std::span<const int32_t> ids, const SpecialTokens& tokens,
                     const WindowShape& shape, int64_t frames) {
  const auto is_timestamp = [&](size_t i) { return tokens.is_timestamp(ids[i]); };
  const auto frame = [&](size_t i) {
    return (ids[i] - tokens.timestamp_begin) * shape.frames_per_position();
  };
  WindowCut cut;
  const size_t count = ids.size();
  cut.ends_after_timestamp = count >= 2 && is_timestamp(count - 1) && !is_timestamp(count - 2);
  std::vector<size_t> ends;
  for (size_t i = 1; i < count; ++i) {
    if (is_timestamp(i - 1) && is_timestamp(i)) ends.push_back(i);
  }
  if (!ends.empty()) {
    if (cut.ends_after_timestamp) ends.push_back(count);
    size_t begin = 0;
    for (const size_t end : ends) {
      // The first tokens of a text without the rules need not be timestamps.
      const int64_t start_frame = is_timestamp(begin) ? frame(begin) : 0;
      cut.spans.push_back({begin, end, start_frame, frame(end - 1)});
      begin = end;
    }
    cut.next_frame = cut.ends_after_timestamp ? frames : frame(begin - 1);
    return cut;
  }
  int64_t end_frame = frames;
  for (size_t i = count; i-- > 0;) {
    if (!is_timestamp(i)) continue;
    if (frame(i) > 0) end_frame = frame(i);
    break;
  }
  cut.spans.push_back({0, count, 0, end_frame});
  cut.next_frame = frames;
  return cut;
}

}  // namespace pippin::speech
