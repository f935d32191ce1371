#include "pippin/speech/voice/voiced_sound.h"

#include <algorithm>
#include <cmath>

#include "pippin/speech/segments.h"

namespace pippin::speech {

VoicedSound::VoicedSound(std::span<const float> recording, std::vector<SampleRange> ranges,
                         int64_t sampling_rate) {
  const auto rate = static_cast<double>(sampling_rate);
  size_t size = 0;
  for (const SampleRange& range : ranges) size += range.size();
  samples_.reserve(size);
  pieces_.reserve(ranges.size());
  for (const SampleRange& range : ranges) {
    const auto part = recording.subspan(range.begin, range.size());
    const double begin = static_cast<double>(samples_.size()) / rate;
    samples_.insert(samples_.end(), part.begin(), part.end());
    pieces_.push_back({begin, static_cast<double>(samples_.size()) / rate,
                       static_cast<double>(range.begin) / rate});
  }
}

const VoicedSound::Piece& VoicedSound::piece_at(double time, bool is_end) const {
  // The first piece that ends at or after an end, or after a start.
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return is_end ? time <= piece.end : time < piece.end;
  });
  return found == pieces_.end() ? pieces_.back() : *found;
}

double VoicedSound::original(double time, bool is_end) const {
  if (pieces_.empty()) return time;
  const Piece& piece = piece_at(time, is_end);
  return piece.original + std::clamp(time, piece.begin, piece.end) - piece.begin;
}

void VoicedSound::restore(Segment& segment) const {
  if (pieces_.empty()) return;
  constexpr double kSeeksPerSecond = 100;
  segment.seek = std::llround(original(static_cast<double>(segment.seek) / kSeeksPerSecond, false) *
                              kSeeksPerSecond);
  segment.start = round_time(original(segment.start, false));
  segment.end = std::max(segment.start, round_time(original(segment.end, true)));
  if (segment.words.empty()) return;
  for (Word& word : segment.words) {
    const Piece& piece = piece_at((word.start + word.end) / 2, false);
    for (double* time : {&word.start, &word.end}) {
      *time = round_time(piece.original + std::clamp(*time, piece.begin, piece.end) - piece.begin);
    }
  }
  segment.start = segment.words.front().start;
  segment.end = segment.words.back().end;
}

std::vector<SampleRange> ranges_in_clips(std::span<const SampleRange> ranges,
                                         std::span<const double> clips, int64_t sampling_rate) {
  if (clips.empty()) return {ranges.begin(), ranges.end()};
  std::vector<SampleRange> inside;
  const auto sample_at = [&](size_t i) {
    if (i >= clips.size()) return SIZE_MAX;
    constexpr double kMost = 1e15;
    return static_cast<size_t>(std::min(clips[i] * static_cast<double>(sampling_rate), kMost));
  };
  for (size_t i = 0; i < clips.size(); i += 2) {
    const size_t begin = sample_at(i), end = sample_at(i + 1);
    for (const SampleRange& range : ranges) {
      const SampleRange part{std::max(range.begin, begin), std::min(range.end, end)};
      if (part.begin < part.end) inside.push_back(part);
    }
  }
  return inside;
}

}  // namespace pippin::speech
