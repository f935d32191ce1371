#include "pippin/runtime/speech/speech_windows.h"

#include <algorithm>
#include <limits>

namespace pippin::runtime {

std::vector<SpeechWindow> divide_speech(int64_t length, int64_t longest, int64_t stride,
                                        int64_t overlap) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  std::vector<SpeechWindow> windows = {{0, std::min(length, longest), 0, 0, kAll}};
  const int64_t frames = std::max<int64_t>(longest / stride, 1);  // of a window
  const int64_t shared = std::min(overlap, frames / 2);
  while (windows.back().begin + windows.back().length < length) {
    SpeechWindow& before = windows.back();
    // The last one begins as early as it can, to have as much to see as the others.
    const int64_t last = (length - longest + stride - 1) / stride;
    const int64_t first =
        std::min(before.first_frame + std::max<int64_t>(frames - shared, 1), last);
    const int64_t begin = first * stride;
    const int64_t from = (first + before.first_frame + frames) / 2;
    before.to = from;
    windows.push_back({begin, std::min(length - begin, longest), first, from, kAll});
  }
  return windows;
}

void append_window(const SpeechWindow& window, const std::vector<SpeechToken>& found,
                   std::vector<SpeechToken>& tokens) {
  const size_t before = tokens.size();
  for (SpeechToken token : found) {
    token.begin += window.first_frame;
    token.end += window.first_frame;
    if (token.begin < window.from || token.begin >= window.to) continue;
    const bool is_first = tokens.size() == before && before > 0;
    if (is_first && tokens.back().id == token.id && tokens.back().begin + 1 >= token.begin) {
      tokens.back().end = std::max(tokens.back().end, token.end);
      continue;
    }
    tokens.push_back(token);
  }
}

}  // namespace pippin::runtime
