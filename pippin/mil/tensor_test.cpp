#include "pippin/mil/tensor.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::mil {
namespace {

TEST(RoundToType, Floats) {
  EXPECT_EQ(round_to_type(0.1, DataType::Float32), static_cast<double>(0.1f));
  EXPECT_EQ(round_to_type(65519.99, DataType::Float16), 65504);
  EXPECT_EQ(round_to_type(65520, DataType::Float16), INFINITY);
  EXPECT_EQ(round_to_type(0x1p-25, DataType::Float16), 0);  // half of the smallest: to even
  EXPECT_EQ(round_to_type(0x1.8p-24, DataType::Float16), 0x1p-23);
  // Just above a tie: rounding through fp32 would give 1.
  EXPECT_EQ(round_to_type(1 + 0x1p-11 + 0x1p-40, DataType::Float16), 1 + 0x1p-10);
  EXPECT_EQ(round_to_type(1 + 0x1p-9, DataType::BFloat16), 1);
  EXPECT_TRUE(std::isnan(round_to_type(NAN, DataType::Float16)));
}

TEST(RoundToType, Integers) {
  EXPECT_EQ(round_to_type(-1.9, DataType::Int32), -1);
  EXPECT_EQ(round_to_type(300, DataType::Int8), 44);
  EXPECT_EQ(round_to_type(200, DataType::Int8), -56);
  EXPECT_EQ(round_to_type(-1, DataType::UInt16), 65535);
  EXPECT_EQ(round_to_type(9, DataType::Int4), -7);
  EXPECT_EQ(round_to_type(INFINITY, DataType::Int32), INT32_MAX);
  EXPECT_EQ(round_to_type(NAN, DataType::Int32), 0);
  EXPECT_EQ(round_to_type(-0.5, DataType::Bool), 1);
}

TEST(Bytes, RoundTripEveryType) {
  for (int number = 0; number < 64; ++number) {
    const auto type = data_type_from_number(number);
    if (!type || *type == DataType::String) continue;
    Tensor tensor(*type, {5});
    tensor.values = {0, 1, 2, 3, 1};
    round_to_type(tensor);
    const std::vector<std::byte> bytes = to_bytes(tensor);
    EXPECT_EQ(bytes.size(), packed_size(*type, 5)) << to_string(*type);
    EXPECT_EQ(tensor_from_bytes(*type, {5}, bytes).values, tensor.values) << to_string(*type);
  }
}

TEST(Bytes, SizesMustFit) {
  const std::vector<std::byte> bytes(3);
  EXPECT_ERROR(tensor_from_bytes(DataType::Float16, {2}, bytes), ErrorCode::InvalidFile,
               "tensor of 2 elements needs 4 bytes, there are 3");
  EXPECT_ERROR(Tensor(DataType::Int8, {INT64_MAX, 2}), ErrorCode::LimitExceeded,
               "the number of elements overflows");
  EXPECT_ERROR(Tensor(DataType::Int8, {-1}), ErrorCode::LimitExceeded, "a dimension is -1");
  EXPECT_EQ(Tensor(DataType::Int8, {INT64_MAX, 0}).size(), 0);
}

}  // namespace
}  // namespace pippin::mil
