// The header of a prompt cache file. Random inputs never have a valid checksum, so the input is
// read a second time with corrected sizes and checksum.
#include <cstring>
#include <span>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/io/load_cache_files.h"
#include "pippin/scheduling/cache_file.h"

namespace pippin {
namespace {

constexpr size_t kHeaderSizeAt = 16, kFileSizeAt = 24;

void read(ByteSpan bytes, uint64_t file_bytes) {
  try {
    const scheduling::CacheFileHeader header =
        scheduling::parse_header(bytes, file_bytes, "x.rows");
    const auto again = scheduling::to_bytes(header);
    if (scheduling::parse_header(again, again.size() + header.content_bytes, "x").tokens !=
        header.tokens) {
      __builtin_trap();
    }
  } catch (const Error&) {
  }
}

void read_mended(ByteSpan bytes) {
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  if (mended.size() < scheduling::kFixedHeader + sizeof(uint64_t)) return;
  const uint64_t size = mended.size();
  std::memcpy(mended.data() + kHeaderSizeAt, &size, sizeof(size));
  uint64_t file_bytes = 0;
  std::memcpy(&file_bytes, mended.data() + kFileSizeAt, sizeof(file_bytes));
  const size_t before = mended.size() - sizeof(uint64_t);
  const uint64_t sum = load_cache::checksum_piece(ByteSpan(mended).first(before));
  std::memcpy(mended.data() + before, &sum, sizeof(sum));
  read(mended, file_bytes);
}

}  // namespace
}  // namespace pippin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  pippin::read(bytes, bytes.size());
  pippin::read_mended(bytes);
  return 0;
}
