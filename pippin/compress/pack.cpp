#include "pippin/compress/pack.h"

#include <algorithm>
#include <cstring>

namespace pippin::compress {

void pack_codes(std::span<const uint8_t> codes, int bits, size_t begin, size_t end,
                std::span<std::byte> out) {
  if (bits == 8) {
    std::memcpy(out.data() + begin, codes.data() + begin, end - begin);
    return;
  }
  const auto width = static_cast<size_t>(bits);
  const uint64_t mask = (uint64_t{1} << width) - 1;
  for (size_t i = begin; i < end; i += 8) {  // eight codes fill `bits` bytes
    const size_t count = std::min<size_t>(8, end - i);
    uint64_t word = 0;
    for (size_t k = 0; k < count; ++k) word |= (codes[i + k] & mask) << (k * width);
    std::memcpy(out.data() + i / 8 * width, &word, (count * width + 7) / 8);
  }
}

}  // namespace pippin::compress
