#include "pippin/base/bytes.h"

#include <array>

#include <gtest/gtest.h>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

TEST(ByteReader, ReadsLittleEndianAndStopsAtTheEnd) {
  const std::array<unsigned char, 6> raw = {0x78, 0x56, 0x34, 0x12, 0xaa, 0xbb};
  ByteReader reader(std::as_bytes(std::span(raw)), "blob");
  EXPECT_EQ(reader.read<uint32_t>(), 0x12345678u);
  EXPECT_EQ(reader.remaining(), 2u);
  EXPECT_ERROR(reader.read<uint32_t>(), ErrorCode::InvalidFile,
               "blob: 4 bytes needed at offset 4, 2 left");
  EXPECT_EQ(reader.read<uint16_t>(), 0xbbaau);
  EXPECT_ERROR(reader.take(1), ErrorCode::InvalidFile, "blob: 1 bytes needed at offset 6, 0 left");
  EXPECT_ERROR(reader.take(SIZE_MAX), ErrorCode::InvalidFile,
               "blob: 18446744073709551615 bytes needed at offset 6, 0 left");
  EXPECT_ERROR(reader.seek(7), ErrorCode::InvalidFile, "blob: offset 7 is past the end (6 bytes)");
  reader.seek(6);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(Checked, OverflowIsAnAnswer) {
  EXPECT_EQ(checked_mul<int64_t>(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_FALSE(checked_mul<int64_t>(INT64_MAX, 2).has_value());
  EXPECT_FALSE(checked_add<size_t>(SIZE_MAX, 1).has_value());
  EXPECT_EQ(align_up<size_t>(65, 64), 128u);
}

}  // namespace
}  // namespace pippin
