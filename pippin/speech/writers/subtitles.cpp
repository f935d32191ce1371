#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/speech/segments.h"
#include "pippin/speech/writers/formats.h"
#include "pippin/speech/writers/timestamp.h"

namespace pippin::speech {
namespace {

struct Subtitle {
  double start = 0, end = 0;
  std::string text;
};

// Returns a text that does not end a subtitle early: without arrows of times.
std::string without_arrows(std::string_view text) {
  std::string out(text);
  for (size_t at = out.find("-->"); at != std::string::npos; at = out.find("-->")) {
    out.replace(at, 3, "->");
  }
  return out;
}

int64_t count_characters(std::string_view text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); ++count) decode_utf8(text, i);
  return count;
}

// Divides words into subtitles; each word's text begins with the space or line break before it.
std::vector<std::vector<Word>> group_words(const std::vector<Segment>& segments,
                                           const SubtitleOptions& options) {
  constexpr double kLongPause = 3;  // seconds; ends a subtitle of joined segments
  constexpr int64_t kUnlimited = 1000;
  const bool joins_segments = options.max_line_count && options.max_line_width;
  const int64_t width = options.max_line_width.value_or(kUnlimited);
  const int64_t words_per_line =
      options.max_line_width ? kUnlimited : options.max_words_per_line.value_or(kUnlimited);
  std::vector<std::vector<Word>> subtitles;
  std::vector<Word> subtitle;
  int64_t length = 0;  // of the line
  int64_t lines = 1;
  double last = 0;
  bool is_first = true;
  for (const Segment& segment : segments) {
    for (size_t i = 0; i < segment.words.size(); ++i) {
      Word word = segment.words[i];
      word.text = without_arrows(word.text);
      if (is_first) last = word.start;
      is_first = false;
      const bool is_long_pause = joins_segments && word.start - last > kLongPause;
      const bool has_room = length + count_characters(word.text) <= width;
      const bool begins_part = static_cast<int64_t>(i) % words_per_line == 0;
      const bool breaks = begins_part && !subtitle.empty() && !joins_segments;
      if (length > 0 && has_room && !is_long_pause && !breaks) {
        length += count_characters(word.text);
      } else {
        word.text = trimmed(word.text);
        const bool is_full = !subtitle.empty() && options.max_line_count &&
                             (is_long_pause || lines >= *options.max_line_count);
        const int64_t new_length = count_characters(word.text);
        if (is_full || breaks) {
          subtitles.push_back(std::move(subtitle));
          subtitle.clear();
          lines = 1;
        } else if (length > 0) {
          ++lines;
          word.text.insert(0, "\n");
        }
        length = new_length;
      }
      last = word.start;
      subtitle.push_back(std::move(word));
    }
  }
  if (!subtitle.empty()) subtitles.push_back(std::move(subtitle));
  return subtitles;
}

std::string join_words(const std::vector<Word>& words, size_t underlined) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (i != underlined) {
      text += word;
      continue;
    }
    const size_t begin = std::min(word.find_first_not_of(" \n"), word.size());
    text += fmt::format("{}<u>{}</u>", word.substr(0, begin), word.substr(begin));
  }
  return text;
}

void add_highlighted(const std::vector<Word>& words, std::vector<Subtitle>& out) {
  double last = words.front().start;
  for (size_t i = 0; i < words.size(); ++i) {
    if (last != words[i].start) {
      out.push_back({last, words[i].start, join_words(words, words.size())});
    }
    out.push_back({words[i].start, words[i].end, join_words(words, i)});
    last = words[i].end;
  }
}

std::vector<Subtitle> make_subtitles(const Transcription& transcription,
                                     const SubtitleOptions& options) {
  std::vector<Subtitle> subtitles;
  const auto& segments = transcription.segments;
  const bool has_words = std::any_of(segments.begin(), segments.end(),
                                     [](const Segment& segment) { return !segment.words.empty(); });
  if (!has_words) {
    for (const Segment& segment : segments) {
      const std::string_view text = trimmed(segment.text);
      if (!text.empty()) subtitles.push_back({segment.start, segment.end, without_arrows(text)});
    }
    return subtitles;
  }
  for (const std::vector<Word>& words : group_words(segments, options)) {
    if (options.highlight_words) {
      add_highlighted(words, subtitles);
    } else {
      subtitles.push_back({words.front().start, words.back().end, join_words(words, words.size())});
    }
  }
  return subtitles;
}

}  // namespace

std::string write_srt(const Transcription& transcription, const SubtitleOptions& options) {
  std::string out;
  int64_t number = 0;
  for (const Subtitle& subtitle : make_subtitles(transcription, options)) {
    out += fmt::format("{}\n{} --> {}\n{}\n\n", ++number, format_time(subtitle.start, true, ','),
                       format_time(subtitle.end, true, ','), subtitle.text);
  }
  return out;
}

std::string write_vtt(const Transcription& transcription, const SubtitleOptions& options) {
  std::string out = "WEBVTT\n\n";
  for (const Subtitle& subtitle : make_subtitles(transcription, options)) {
    out += fmt::format("{} --> {}\n{}\n\n", format_time(subtitle.start, false, '.'),
                       format_time(subtitle.end, false, '.'), subtitle.text);
  }
  return out;
}

}  // namespace pippin::speech
