#include "pippin/image/png_chunks.h"

#include <zlib.h>

#include "pippin/base/bytes.h"

namespace pippin::image {

uint32_t png_number(ByteSpan bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  }
  return value;
}

std::optional<PngChunks::Chunk> PngChunks::next() {
  constexpr size_t kFrame = 12;
  if (at_ > file_.size() || file_.size() - at_ < kFrame) return std::nullopt;
  const size_t size = png_number(file_, at_);
  if (size > file_.size() - at_ - kFrame) return std::nullopt;
  const Chunk chunk{as_text(file_.subspan(at_ + 4, 4)), file_.subspan(at_ + 8, size),
                    file_.subspan(at_, size + kFrame)};
  at_ += size + kFrame;
  return chunk;
}

void append_png_chunk(std::string& file, std::string_view type, std::string_view body) {
  const auto put = [&](uint64_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(number >> shift);
  };
  put(body.size());
  const size_t start = file.size();
  file += type;
  file += body;
  put(crc32(0, reinterpret_cast<const Bytef*>(file.data() + start),
            static_cast<uInt>(file.size() - start)));
}

}  // namespace pippin::image
