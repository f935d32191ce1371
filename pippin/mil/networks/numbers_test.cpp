#include "pippin/mil/networks/numbers.h"

#include <gtest/gtest.h>

#include "pippin/mil/elements.h"

namespace pippin::mil::networks {
namespace {

TEST(Numbers, AreRepackedFromAnyByte) {
  constexpr DataType kTypes[] = {DataType::UInt1, DataType::UInt2, DataType::UInt3,
                                 DataType::UInt4, DataType::UInt6, DataType::UInt8};
  for (const DataType type : kTypes) {
    const int bits = bit_width(type);
    constexpr int64_t kCount = 10007;  // several blocks; the last byte is not full
    std::vector<std::byte> stored((static_cast<size_t>(kCount * bits) + 7) / 8);
    for (size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::byte>(i * 37 + i / 7);
    const auto numbers = unpacked_numbers(stored, kCount, bits, nullptr);
    ASSERT_EQ(numbers->size(), static_cast<uint64_t>(kCount));
    const auto packed = packed_numbers(numbers, bits);
    ASSERT_EQ(packed->size(), stored.size());
    std::vector<std::byte> all(stored.size());
    packed->read(0, all);
    std::vector<std::byte> bytes(kCount);
    numbers->read(0, bytes);
    for (int64_t i = 0; i < kCount; ++i) {
      uint64_t wanted = 0;
      for (int64_t bit = i * bits; bit < (i + 1) * bits; ++bit) {
        const auto byte = static_cast<uint64_t>(stored[static_cast<size_t>(bit / 8)]);
        wanted = wanted << 1 | (byte >> (7 - bit % 8) & 1);
      }
      ASSERT_EQ(static_cast<uint64_t>(bytes[static_cast<size_t>(i)]), wanted) << bits << " " << i;
      ASSERT_EQ(element_bits(type, all, static_cast<size_t>(i)), wanted) << bits << " " << i;
    }
    for (const size_t offset : {size_t{1}, size_t{5}, size_t{700}, stored.size() - 3}) {
      for (const size_t size : {size_t{1}, size_t{2}, stored.size() - offset}) {
        std::vector<std::byte> part(std::min(size, stored.size() - offset));
        packed->read(offset, part);
        ASSERT_TRUE(
            std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(offset)))
            << bits << " " << offset << " " << size;
      }
    }
  }
}

}  // namespace
}  // namespace pippin::mil::networks
