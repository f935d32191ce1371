// Files of transcriptions: text, JSON, subtitles, tables, lyrics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pippin/speech/transcription.h"

namespace pippin::speech {

enum class Format : uint8_t {
  Text,  // a segment per line
  Json,  // verbose_json of OpenAI's API
  Srt,   // SubRip
  Vtt,   // WebVTT
  Tsv,   // start and end in milliseconds, text
  Lrc,   // lyrics
};

// The layout of subtitles of a transcription with words; without words there is one per segment.
struct SubtitleOptions {
  std::optional<int64_t> max_line_width;      // characters
  std::optional<int64_t> max_line_count;      // lines; with max_line_width, segments are joined
  std::optional<int64_t> max_words_per_line;  // ignored with max_line_width
  bool highlight_words = false;               // a subtitle per word, which is underlined in it
};

struct FormatName {
  Format format;
  std::string_view name;  // also the ending of files
};

// All formats.
std::span<const FormatName> all_formats();
std::string_view format_name(Format format);

// Returns the text of a file.
std::string write_transcription(const Transcription& transcription, Format format,
                                const SubtitleOptions& subtitles = {});

// The single formats; segments without text are left out, except in JSON.
std::string write_text(const Transcription& transcription);
std::string write_json(const Transcription& transcription, bool with_segments = true);
std::string write_srt(const Transcription& transcription, const SubtitleOptions& options = {});
std::string write_vtt(const Transcription& transcription, const SubtitleOptions& options = {});
std::string write_tsv(const Transcription& transcription);
std::string write_lrc(const Transcription& transcription);

}  // namespace pippin::speech
