#include "pippin/sound/file_format.h"

#include <algorithm>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/sound/sound_source.h"

namespace pippin::sound {

namespace {

bool has_text(ByteSpan file, size_t offset, std::string_view text) {
  return as_text(file).substr(std::min(offset, file.size())).starts_with(text);
}

unsigned byte_at(ByteSpan file, size_t i) {
  return std::to_integer<unsigned>(file[i]);
}

// Returns the bytes of an ID3 tag at the start, which FLAC files can have as well as MP3 files.
size_t tag_size(ByteSpan file) {
  if (!has_text(file, 0, "ID3") || file.size() < 10) return 0;
  size_t size = 0;  // seven bits per byte
  for (size_t i = 6; i < 10; ++i) size = size << 7 | (byte_at(file, i) & 0x7f);
  return 10 + size;
}

// The start of an MPEG frame of layer 1 to 3.
bool is_mpeg_frame(ByteSpan file) {
  if (file.size() < 4) return false;
  const auto byte = [&](size_t i) { return byte_at(file, i); };
  return byte(0) == 0xff && (byte(1) & 0xe0) == 0xe0 && (byte(1) & 0x18) != 0x08 &&
         (byte(1) & 0x06) != 0 && (byte(2) & 0xf0) != 0xf0 && (byte(2) & 0x0c) != 0x0c;
}

// Of Ogg, AIFF, AU, CAF, and the forms of WAV for large files and of another byte order.
bool is_other(ByteSpan file) {
  return has_text(file, 0, "OggS") || has_text(file, 0, ".snd") || has_text(file, 0, "caff") ||
         (has_text(file, 0, "FORM") && has_text(file, 8, "AIF")) ||
         ((has_text(file, 0, "RIFX") || has_text(file, 0, "RF64")) && has_text(file, 8, "WAVE"));
}

std::string_view unsupported_format(ByteSpan file) {
  if (has_text(file, 4, "ftyp")) return "an MP4 file (AAC)";
  if (has_text(file, 0, "\x1a\x45\xdf\xa3")) return "a WebM or Matroska file";
  if (has_text(file, 0, "RIFF")) return "a RIFF file without sound";
  if (has_text(file, 0, std::string_view("\x30\x26\xb2\x75", 4))) return "a WMA file";
  if (file.size() > 1 && byte_at(file, 0) == 0xff && (byte_at(file, 1) & 0xf6) == 0xf0) {
    return "a stream of AAC";
  }
  return "an unknown format";
}

}  // namespace

FileFormat file_format(ByteSpan file, const std::string& name) {
  if (file.empty()) fail(ErrorCode::InvalidFile, "{}: the file is empty", name);
  if (has_text(file, 0, "RIFF") && has_text(file, 8, "WAVE")) return FileFormat::Wav;
  if (has_text(file, tag_size(file), "fLaC")) return FileFormat::Flac;
  if (has_text(file, 0, "ID3") || is_mpeg_frame(file)) return FileFormat::Mp3;
  if (is_other(file)) return FileFormat::Other;
  fail(ErrorCode::Unsupported,
       "{}: {} (supported: WAV, FLAC, Ogg Vorbis and Opus, MP3, AIFF, AU, CAF)", name,
       unsupported_format(file));
}

std::unique_ptr<SoundSource> open_sound_file(ByteSpan file, const std::string& name) {
  const FileFormat format = file_format(file, name);
  if (format == FileFormat::Mp3) return open_mp3(file, name);
  if (format == FileFormat::Wav) {
    if (auto source = open_wav(file, name)) return source;
  }
  return open_sndfile(file, name, format == FileFormat::Flac);
}

}  // namespace pippin::sound
