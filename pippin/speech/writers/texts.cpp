// Formats of one line per segment.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/speech/segments.h"
#include "pippin/speech/writers/formats.h"
#include "pippin/speech/writers/timestamp.h"

namespace pippin::speech {
namespace {

// Returns the text in one line.
std::string line_of(const Segment& segment, std::string_view breaks) {
  std::string line(trimmed(segment.text));
  std::replace_if(
      line.begin(), line.end(), [&](char c) { return breaks.find(c) != std::string_view::npos; },
      ' ');
  return line;
}

}  // namespace

std::string write_text(const Transcription& transcription) {
  std::string out;
  for (const Segment& segment : transcription.segments) {
    const std::string_view text = trimmed(segment.text);
    if (!text.empty()) out += fmt::format("{}\n", text);
  }
  return out;
}

std::string write_tsv(const Transcription& transcription) {
  std::string out = "start\tend\ttext\n";
  for (const Segment& segment : transcription.segments) {
    const std::string line = line_of(segment, "\t\n\r");
    if (line.empty()) continue;
    out += fmt::format("{}\t{}\t{}\n", std::llround(segment.start * 1000),
                       std::llround(segment.end * 1000), line);
  }
  return out;
}

std::string write_lrc(const Transcription& transcription) {
  std::string out;
  for (const Segment& segment : transcription.segments) {
    const std::string line = line_of(segment, "\n\r");
    if (!line.empty()) out += fmt::format("[{}]{}\n", format_lyrics_time(segment.start), line);
  }
  return out;
}

}  // namespace pippin::speech
