#include "pippin/io/gzip.h"

#include "pippin/base/error.h"

namespace pippin {
namespace {

constexpr auto kFirst = std::byte{0x1f}, kSecond = std::byte{0x8b};
constexpr uint8_t kDeflate = 8;
constexpr uint8_t kHeaderDigest = 2, kExtra = 4, kName = 8, kComment = 16;
constexpr size_t kTrailer = 8;

void skip_text(ByteReader& reader) {
  while (reader.read<uint8_t>() != 0) {
  }
}

}  // namespace

bool is_gzip(ByteSpan file) {
  return file.size() > 2 && file[0] == kFirst && file[1] == kSecond;
}

GzipFile parse_gzip(ByteSpan file, const std::string& name) {
  if (!is_gzip(file)) fail(ErrorCode::InvalidFile, "{}: not a gzip file", name);
  ByteReader reader(file, name);
  reader.take(2);
  const auto method = reader.read<uint8_t>();
  if (method != kDeflate) {
    fail(ErrorCode::InvalidFile, "{}: gzip method {}, 8 (deflate) is read", name, method);
  }
  const auto flags = reader.read<uint8_t>();
  reader.take(6);  // time, effort, system
  if ((flags & kExtra) != 0) reader.take(reader.read<uint16_t>());
  if ((flags & kName) != 0) skip_text(reader);
  if ((flags & kComment) != 0) skip_text(reader);
  if ((flags & kHeaderDigest) != 0) reader.take(2);
  if (reader.remaining() <= kTrailer) {
    fail(ErrorCode::InvalidFile, "{}: the gzip file is cut off at {} bytes", name, file.size());
  }
  GzipFile result;
  result.deflated = reader.take(reader.remaining() - kTrailer);
  result.crc = reader.read<uint32_t>();
  result.size = reader.read<uint32_t>();
  return result;
}

}  // namespace pippin
