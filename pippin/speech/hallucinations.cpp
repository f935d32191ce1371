#include "pippin/speech/hallucinations.h"

#include <algorithm>
#include <span>

namespace pippin::speech {
namespace {

// The difference of a word's probability and duration (in seconds) from those of speech.
double anomaly(const Word& word) {
  constexpr double kLeastProbability = 0.15;
  constexpr double kShortest = 0.133;
  constexpr double kLongest = 2;
  constexpr double kWeightOfShortness = 15;
  const double duration = word.end - word.start;
  double score = word.probability < kLeastProbability ? 1 : 0;
  score += std::max(0.0, kShortest - duration) * kWeightOfShortness;
  return score + std::max(0.0, duration - kLongest);
}

// Whether the first words of a segment look invented.
bool is_anomaly(const Segment* segment, const TranscribeOptions& options) {
  constexpr size_t kMostWords = 8;
  constexpr double kMostScore = 3;
  constexpr double kTolerance = 0.01;
  if (segment == nullptr || segment->words.empty()) return false;
  const std::string marks = options.prepend_punctuations + options.append_punctuations;
  double score = 0;
  size_t count = 0;
  for (const Word& word : segment->words) {
    if (marks.find(word.text) != std::string::npos) continue;
    if (++count > kMostWords) break;
    score += anomaly(word);
  }
  count = std::min(count, kMostWords);
  return score >= kMostScore || score + kTolerance >= static_cast<double>(count);
}

const Segment* first_with_words(std::span<const Segment> segments) {
  const auto found = std::find_if(segments.begin(), segments.end(),
                                  [](const Segment& segment) { return !segment.words.empty(); });
  return found == segments.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> remove_hallucinations(std::vector<Segment>& segments,
                                            const WindowTimes& window,
                                            const TranscribeOptions& options) {
  constexpr double kNearEdge = 2;  // seconds from the ends of a window, which count as silence
  const double threshold = *options.hallucination_silence_threshold;
  const Segment* first = first_with_words(segments);
  if (is_anomaly(first, options) && first->start - window.start > threshold) {
    const double start = first->start;
    segments.clear();
    return start;
  }
  double last_end = window.last_speech;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    if (segment.words.empty()) continue;
    if (is_anomaly(&segment, options)) {
      const Segment* next = first_with_words(std::span(segments).subspan(i + 1));
      const double next_start = next != nullptr ? next->words.front().start : window.speech_end;
      const bool is_silent_before = segment.start - last_end > threshold ||
                                    segment.start < threshold ||
                                    segment.start - window.start < kNearEdge;
      const bool is_silent_after = next_start - segment.end > threshold ||
                                   is_anomaly(next, options) ||
                                   window.end - segment.end < kNearEdge;
      if (is_silent_before && is_silent_after) {
        constexpr double kLeastStep = 1;
        const double resume = window.recording_end - segment.end < threshold
                                  ? window.recording_end
                                  : std::max(window.start + kLeastStep, segment.start);
        segments.erase(segments.begin() + static_cast<int64_t>(i), segments.end());
        return resume;
      }
    }
    last_end = segment.end;
  }
  return std::nullopt;
}

}  // namespace pippin::speech
