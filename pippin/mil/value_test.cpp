#include "pippin/mil/value.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/mil/elements.h"

namespace pippin::mil {
namespace {

TEST(Elements, SubByteElementsArePackedFromTheLeastSignificantBit) {
  // 3-bit elements 1, 2, 3, 4, 5: the third straddles the first two bytes.
  std::vector<std::byte> bytes(packed_size(DataType::UInt3, 5));
  ASSERT_EQ(bytes.size(), 2u);
  for (size_t i = 0; i < 5; ++i) set_element_bits(DataType::UInt3, bytes, i, i + 1);
  EXPECT_EQ(bytes[0], std::byte{0b11'010'001});
  EXPECT_EQ(bytes[1], std::byte{0b0'101'100'0});
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(element_bits(DataType::UInt3, bytes, i), i + 1);
}

TEST(Elements, EveryTypeKeepsItsBits) {
  for (int number = 1; number <= 41; ++number) {
    const auto type = data_type_from_number(number);
    if (!type || *type == DataType::String) continue;
    const int width = bit_width(*type);
    std::vector<std::byte> bytes(packed_size(*type, 11), std::byte{0xff});
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    for (size_t i = 0; i < 11; ++i) {
      set_element_bits(*type, bytes, i, (i * 0x9e3779b97f4a7c15u) & mask);
    }
    for (size_t i = 0; i < 11; ++i) {
      EXPECT_EQ(element_bits(*type, bytes, i), (i * 0x9e3779b97f4a7c15u) & mask)
          << to_string(*type);
    }
  }
}

TEST(Elements, FloatsOfEveryWidthGoToDoubleAndBack) {
  for (const DataType type :
       {DataType::Float16, DataType::BFloat16, DataType::Float8E4M3FN, DataType::Float8E5M2}) {
    const uint64_t count = uint64_t{1} << bit_width(type);
    for (uint64_t bits = 0; bits < count; ++bits) {
      const double value = bits_to_double(type, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(bits_to_double(type, float_to_bits(type, value))));
      } else {
        ASSERT_EQ(float_to_bits(type, value), bits) << to_string(type) << " " << value;
      }
    }
  }
}

TEST(Elements, KnownFloat8Values) {
  EXPECT_EQ(bits_to_double(DataType::Float8E4M3FN, 0x7e), 448.0);
  EXPECT_EQ(bits_to_double(DataType::Float8E4M3FN, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(bits_to_double(DataType::Float8E4M3FN, 0x7f)));
  EXPECT_EQ(bits_to_double(DataType::Float8E5M2, 0x7b), 57344.0);
  EXPECT_EQ(float_to_bits(DataType::Float8E5M2, 1e9), 0x7cu);
  EXPECT_EQ(float_to_bits(DataType::Float8E4M3FN, 1e9), 0x7fu);
  EXPECT_EQ(float_to_bits(DataType::Float8E4M3FN, -0.0), 0x80u);
}

TEST(Elements, HalfFloatsAreRoundedOnce) {
  // Just above the tie between 1 and 1 + 2^-10: a detour through float would land on the tie.
  EXPECT_EQ(float_to_bits(DataType::Float16, 1 + 0x1p-11 + 0x1p-40), 0x3c01u);
  EXPECT_EQ(float_to_bits(DataType::Float16, 1 + 0x1p-11 - 0x1p-40), 0x3c00u);
  EXPECT_EQ(float_to_bits(DataType::Float16, 1 + 0x1p-11), 0x3c00u);
}

TEST(Elements, IntegersAreSignExtended) {
  EXPECT_EQ(bits_to_int(DataType::Int4, 0xf), -1);
  EXPECT_EQ(bits_to_int(DataType::Int8, 0x80), -128);
  EXPECT_EQ(bits_to_int(DataType::UInt4, 0xf), 15);
  EXPECT_EQ(min_integer(DataType::Int4), -8);
  EXPECT_EQ(max_integer(DataType::UInt6), 63);
  EXPECT_EQ(max_integer(DataType::Int64), std::numeric_limits<int64_t>::max());
}

TEST(Value, HelpersGiveTypedBytes) {
  EXPECT_EQ(Value::of_int32(-3).to_ints(), std::vector<int64_t>{-3});
  const std::vector<int32_t> three{1, 2, 3};
  const Value ints = Value::of_int32s(three);
  EXPECT_EQ(to_string(ints.type), "tensor<int32, [3]>");
  EXPECT_EQ(ints.to_doubles(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Value::of_bools({true, false}).to_ints(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(Value::of_string("x").to_string_value(), "x");
  EXPECT_EQ(Value::of_float(DataType::BFloat16, 1.5).to_doubles(), std::vector<double>{1.5});
  const std::vector<double> numbers{1, 2, 3, 4};
  EXPECT_EQ(Value::of_floats(DataType::Float16, numbers, {2, 2}).bytes.size(), 8u);
  EXPECT_ERROR(Value::of_floats(DataType::Float16, numbers, {2, 3}), ErrorCode::InvalidArgument,
               "4 numbers do not make a tensor<fp16, [2, 3]>");
}

class Numbers : public TensorSource {
 public:
  uint64_t size() const override { return 4; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(offset + i);
  }
};

TEST(Value, SourcesAreReadWhenAsked) {
  const auto source = std::make_shared<Numbers>();
  const Value value = Value::of_source(ValueType::tensor(DataType::Int8, {4}), source);
  EXPECT_EQ(value.to_ints(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_ERROR(Value::of_source(ValueType::tensor(DataType::Int8, {5}), source),
               ErrorCode::InvalidArgument, "a source of 4 bytes is not a tensor<int8, [5]>");
  Value copy;
  copy.type = value.type;
  copy.bytes = value.read_bytes();
  EXPECT_TRUE(equal(value, copy));
  copy.bytes[0] = std::byte{9};
  EXPECT_FALSE(equal(value, copy));
}

TEST(Value, HostileSizesAreErrors) {
  Value value;
  value.type = ValueType::tensor(DataType::Float32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_ERROR(value.read_bytes(), ErrorCode::LimitExceeded, "has no number of elements");
  value.type = ValueType::tensor(DataType::Float32, {int64_t{1} << 60});
  EXPECT_ERROR(value.to_doubles(), ErrorCode::LimitExceeded,
               "1152921504606846976 elements of fp32 are more than can be addressed");
  value.type = ValueType::tensor(DataType::Int32, {2});
  value.bytes.resize(7);
  EXPECT_ERROR(value.to_ints(), ErrorCode::InvalidFile,
               "a tensor<int32, [2]> needs 8 bytes, the value has 7");
  value.type.dims = {kUnknownDim};
  EXPECT_ERROR(value.to_ints(), ErrorCode::InvalidFile,
               "a value of type tensor<int32, [?]> has no elements to read");
  EXPECT_ERROR(Value::of_string("x").to_ints(), ErrorCode::InvalidFile,
               "a value of type tensor<string, []> does not hold integers");
}

}  // namespace
}  // namespace pippin::mil
