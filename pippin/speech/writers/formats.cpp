#include "pippin/speech/writers/formats.h"

#include <array>

namespace pippin::speech {
namespace {

constexpr std::array kFormats = {
    FormatName{Format::Text, "txt"}, FormatName{Format::Json, "json"},
    FormatName{Format::Srt, "srt"},  FormatName{Format::Vtt, "vtt"},
    FormatName{Format::Tsv, "tsv"},  FormatName{Format::Lrc, "lrc"},
};

}  // namespace

std::span<const FormatName> all_formats() {
  return kFormats;
}

std::string_view format_name(Format format) {
  for (const FormatName& known : kFormats) {
    if (known.format == format) return known.name;
  }
  return {};
}

std::string write_transcription(const Transcription& transcription, Format format,
                                const SubtitleOptions& subtitles) {
  switch (format) {
    case Format::Json:
      return write_json(transcription);
    case Format::Srt:
      return write_srt(transcription, subtitles);
    case Format::Vtt:
      return write_vtt(transcription, subtitles);
    case Format::Tsv:
      return write_tsv(transcription);
    case Format::Lrc:
      return write_lrc(transcription);
    case Format::Text:
      break;
  }
  return write_text(transcription);
}

}  // namespace pippin::speech
