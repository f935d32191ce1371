// A saved sequence, read into the arrays of a small model. Random inputs never have a valid
// checksum, so the input is read a second time with the size and checksum of its content.
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/io/load_cache_files.h"
#include "pippin/runtime/sequence_file.h"

namespace pippin {
namespace {

void read(ByteSpan bytes) {
  try {
    const runtime::SequenceFile file(bytes, "x.sequence");
    std::vector<std::byte> keys(2 * 4 * 3), rest(5);
    file.check({{"keys", keys.size(), 2, 4}, {"rest", rest.size()}});
    file.read([&](size_t index, const engine::StateRows& rows, const std::byte* from) {
      engine::write_rows((index == 0 ? keys : rest).data(), rows, from, rows.group_bytes());
    });
  } catch (const Error&) {
  }
}

std::vector<std::byte> mended(ByteSpan bytes) {
  constexpr size_t kSizeAt = 12, kChecksumBytes = sizeof(uint64_t);
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  if (result.size() < kSizeAt + sizeof(uint64_t) + kChecksumBytes) return result;
  const uint64_t size = result.size();
  std::memcpy(result.data() + kSizeAt, &size, sizeof(size));
  const ByteSpan content = ByteSpan(result).first(result.size() - kChecksumBytes);
  const uint64_t sum =
      load_cache::checksum(content, [](size_t count, const std::function<void(size_t)>& body) {
        for (size_t i = 0; i < count; ++i) body(i);
      });
  std::memcpy(result.data() + content.size(), &sum, sizeof(sum));
  return result;
}

}  // namespace
}  // namespace pippin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  pippin::read(bytes);
  pippin::read(pippin::mended(bytes));
  return 0;
}
