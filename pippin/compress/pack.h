// Packs codes of one byte each into bits: code i in bits [i*b, (i+1)*b), little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pippin::compress {

// Packs codes [begin, end) into their positions in `out`; begin is a multiple of 8.
void pack_codes(std::span<const uint8_t> codes, int bits, size_t begin, size_t end,
                std::span<std::byte> out);

}  // namespace pippin::compress
