#include "pippin/api/tensor.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/float16.h"
#include "pippin/io/fault_test.h"

namespace pippin {
namespace {

template <typename T>
Tensor one(T value) {
  return Tensor::from(std::vector<T>{value}, {1});
}

TEST(Tensor, HoldsWhatItIsGiven) {
  Tensor tensor = Tensor::from(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(tensor.type(), DataType::Int32);
  EXPECT_EQ(tensor.size(), 6);
  tensor.data<int32_t>()[5] = -6;
  EXPECT_EQ(tensor.to_doubles(), (std::vector<double>{1, 2, 3, 4, 5, -6}));
  EXPECT_EQ(tensor.reshaped({6}).shape(), std::vector<int64_t>{6});
  EXPECT_EQ(Tensor(DataType::Float16, {}).size(), 1);
  EXPECT_EQ(Tensor(DataType::String, {2}).strings().size(), 2u);
  EXPECT_EQ(Tensor().size(), 0);
  EXPECT_FAULT(tensor.data<float>(), "a int32 tensor is read as float32");
  EXPECT_FAULT(tensor.reshaped({7}), "shape [2, 3] cannot become [7]");
  EXPECT_FAULT(Tensor::from(std::vector<float>{1}, {2}), "from 4 bytes");
  EXPECT_FAULT(Tensor(DataType::Bool, {-1}), "negative");
  EXPECT_FAULT(Tensor(DataType::Float64, {int64_t{1} << 40, int64_t{1} << 40}), "too large");
}

TEST(Tensor, FloatsAreRoundedToNarrowerOnes) {
  EXPECT_EQ(one(0.1).to(DataType::Float32).data<float>()[0], 0.1f);
  EXPECT_EQ(one(0.1f).to(DataType::Float16).to_floats()[0], to_float(to_float16(0.1f)));
  // Half way between 1 and the next half, and a little more: rounding twice would give 1.
  EXPECT_EQ(one(1 + 0x1p-11).to(DataType::Float16).to_floats()[0], 1.0f);
  EXPECT_EQ(one(1 + 0x1p-11 + 0x1p-40).to(DataType::Float16).to_floats()[0], 1.0f + 0x1p-10f);
  EXPECT_EQ(one(-(1 + 0x1p-11 + 0x1p-40)).to(DataType::Float16).to_floats()[0], -1.0f - 0x1p-10f);
  EXPECT_EQ(one(1 + 3 * 0x1p-11 - 0x1p-40).to(DataType::Float16).to_floats()[0], 1 + 0x1p-10f);
  EXPECT_TRUE(std::isnan(one(std::nan("")).to(DataType::Float16).to_floats()[0]));
  EXPECT_EQ(one(HUGE_VAL).to(DataType::Float32).to_floats()[0], HUGE_VALF);
  EXPECT_FAULT(one(1e300).to(DataType::Float32), "element 0 is 1e+300, which float32 cannot hold");
  EXPECT_FAULT(one(65520.0f).to(DataType::Float16), "float16 cannot hold");
}

TEST(Tensor, OtherConversionsAreExactOrRefused) {
  EXPECT_EQ(one(int64_t{-5}).to(DataType::Int32).data<int32_t>()[0], -5);
  EXPECT_FAULT(one(int64_t{1} << 31).to(DataType::Int32), "is 2147483648, which int32 cannot");
  EXPECT_FAULT(one(int8_t{-1}).to(DataType::UInt16), "is -1, which uint16");
  EXPECT_FAULT(one(std::numeric_limits<uint64_t>::max()).to(DataType::Int64), "int64 cannot");
  EXPECT_EQ(one(3.0).to(DataType::UInt8).data<uint8_t>()[0], 3);
  EXPECT_FAULT(one(0.5f).to(DataType::Int32), "is 0.5, which int32 cannot hold");
  EXPECT_FAULT(one(std::nan("")).to(DataType::Int32), "is nan");
  EXPECT_FAULT(one(2147483648.0).to(DataType::Int32), "int32 cannot hold");
  EXPECT_FAULT(one(0x1p63).to(DataType::Int64), "int64 cannot hold");
  EXPECT_EQ(one(-0x1p63).to(DataType::Int64).data<int64_t>()[0],
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(one(int32_t{1} << 24).to(DataType::Float32).to_floats()[0], 0x1p24f);
  EXPECT_FAULT(one((int32_t{1} << 24) + 1).to(DataType::Float32), "which float32 cannot hold");
  EXPECT_FAULT(one(std::numeric_limits<int64_t>::max()).to(DataType::Float64), "float64 cannot");
  EXPECT_FAULT(one(int32_t{2049}).to(DataType::Float16), "float16 cannot hold");
  EXPECT_EQ(one(int32_t{1}).to(DataType::Bool).bytes()[0], std::byte{1});
  EXPECT_FAULT(one(int32_t{2}).to(DataType::Bool), "is 2, which bool cannot hold");
  EXPECT_FAULT(Tensor(DataType::String, {1}).to(DataType::Int8), "string cannot become int8");
  EXPECT_FAULT(Tensor(DataType::String, {1}).to_floats(), "strings are no numbers");
}

TEST(Tensor, AreFoundByName) {
  Values values = {{"x", one(1.0f)}, {"picture", Image{}}};
  EXPECT_EQ(tensor_at(values, "x").size(), 1);
  EXPECT_FAULT(tensor_at(values, "y"), "there is no value 'y'");
  EXPECT_FAULT(tensor_at(values, "picture"), "'picture' is no tensor");
}

}  // namespace
}  // namespace pippin
