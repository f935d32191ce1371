#include "pippin/sound/file_format.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

bool has_text(ByteSpan file, size_t offset, std::string_view text) {
  return as_text(file).substr(std::min(offset, file.size())).starts_with(text);
}

// The start of an MPEG frame of layer 1 to 3.
bool is_mpeg_frame(ByteSpan file) {
  if (file.size() < 4) return false;
  const auto byte = [&](size_t i) { return std::to_integer<unsigned>(file[i]); };
  return byte(0) == 0xff && (byte(1) & 0xe0) == 0xe0 && (byte(1) & 0x18) != 0x08 &&
         (byte(1) & 0x06) != 0 && (byte(2) & 0xf0) != 0xf0 && (byte(2) & 0x0c) != 0x0c;
}

std::optional<FileFormat> format_of(ByteSpan file) {
  if ((has_text(file, 0, "RIFF") || has_text(file, 0, "RIFX") || has_text(file, 0, "RF64")) &&
      has_text(file, 8, "WAVE")) {
    return FileFormat::Wav;
  }
  if (has_text(file, 0, "fLaC")) return FileFormat::Flac;
  if (has_text(file, 0, "OggS")) return FileFormat::Ogg;
  if (has_text(file, 0, "ID3") || is_mpeg_frame(file)) return FileFormat::Mp3;
  if (has_text(file, 0, "FORM") && has_text(file, 8, "AIF")) return FileFormat::Aiff;
  if (has_text(file, 0, ".snd")) return FileFormat::Au;
  if (has_text(file, 0, "caff")) return FileFormat::Caf;
  return std::nullopt;
}

std::string_view other_format(ByteSpan file) {
  if (has_text(file, 4, "ftyp")) return "an MP4 file (AAC)";
  if (has_text(file, 0, "\x1a\x45\xdf\xa3")) return "a WebM or Matroska file";
  if (has_text(file, 0, "RIFF")) return "a RIFF file without sound";
  if (has_text(file, 0, std::string_view("\x30\x26\xb2\x75", 4))) return "a WMA file";
  return "an unknown format";
}

// Samples may only be followed by other chunks. A program that crashed while it recorded leaves the
// length 0.
void check_empty(ByteReader& reader, const std::string& name) {
  const size_t left = reader.remaining();
  if (left == 0) return;
  if (left >= 8) {
    const auto id = as_text(reader.take(4));
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (ranges::all_of(id, is_printable) && reader.read<uint32_t>() <= reader.remaining()) return;
  }
  fail(ErrorCode::InvalidFile, "{}: the header states 0 bytes of samples, {} bytes follow", name,
       left);
}

// The lengths in the chunk headers of "RIFF" files are little-endian. Those of "RF64" are in a
// chunk of their own, and those of "RIFX" are rare; libsndfile takes what there is.
void check_wav_length(ByteSpan file, const std::string& name) {
  ByteReader reader(file, name);
  reader.seek(12);
  while (reader.remaining() >= 8) {
    const bool is_data = as_text(reader.take(4)) == "data";
    const auto size = reader.read<uint32_t>();
    if (is_data) {
      // Programs that write to a pipe state the largest value.
      if (size >= 0x7ffff000) return;
      if (size == 0) return check_empty(reader, name);
      if (size <= reader.remaining()) return;
      fail(ErrorCode::InvalidFile, "{}: {} bytes of samples, the header states {}", name,
           reader.remaining(), size);
    }
    const uint64_t padded = uint64_t{size} + size % 2;
    if (padded > reader.remaining()) return;
    reader.take(padded);
  }
}

}  // namespace

FileFormat check_file_format(ByteSpan file, const std::string& name) {
  if (file.empty()) fail(ErrorCode::InvalidFile, "{}: the file is empty", name);
  const auto format = format_of(file);
  if (!format) {
    fail(ErrorCode::Unsupported,
         "{}: {} (supported: WAV, FLAC, Ogg Vorbis and Opus, MP3, AIFF, AU, CAF)", name,
         other_format(file));
  }
  if (has_text(file, 0, "RIFF")) check_wav_length(file, name);
  return *format;
}

std::unique_ptr<SoundSource> open_sound_file(ByteSpan file, const std::string& name) {
  const FileFormat format = check_file_format(file, name);
  if (format == FileFormat::Mp3) return open_mp3(file, name);
  return open_sndfile(file, name, format == FileFormat::Flac);
}

}  // namespace pippin::sound
