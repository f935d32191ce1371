// Files of transcriptions: text, JSON, subtitles, tables, lyrics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pippin/base/export.h"
#include "pippin/speech/transcription.h"

namespace pippin::speech {

// The formats of files.
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

// The layout of JSON.
struct JsonOptions {
  bool with_segments = true;  // the list of segments
  bool with_words = false;    // lists of words, which may be empty
  bool in_one_line = false;   // a line of JSON Lines
};

// A format and its name.
struct FormatName {
  Format format;          // one of all
  std::string_view name;  // also the ending of files
};

// All formats.
PIPPIN_API std::span<const FormatName> all_formats();
// Returns the name of a format.
PIPPIN_API std::string_view format_name(Format format);

// Returns the text of a file.
PIPPIN_API std::string write_transcription(const Transcription& transcription, Format format,
                                           const SubtitleOptions& subtitles = SubtitleOptions());

// The single formats; segments without text are left out, except in JSON.

// Returns a segment per line.
PIPPIN_API std::string write_text(const Transcription& transcription);
// Returns verbose_json of OpenAI's API.
PIPPIN_API std::string write_json(const Transcription& transcription,
                                  const JsonOptions& options = JsonOptions());
// Returns SubRip subtitles.
PIPPIN_API std::string write_srt(const Transcription& transcription,
                                 const SubtitleOptions& options = SubtitleOptions());
// Returns WebVTT subtitles.
PIPPIN_API std::string write_vtt(const Transcription& transcription,
                                 const SubtitleOptions& options = SubtitleOptions());
// Returns start and end in milliseconds and the text of each segment.
PIPPIN_API std::string write_tsv(const Transcription& transcription);
// Returns lyrics.
PIPPIN_API std::string write_lrc(const Transcription& transcription);

}  // namespace pippin::speech
