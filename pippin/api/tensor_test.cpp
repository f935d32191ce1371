#include "pippin/api/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/testing.h"
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

// Elements of the caller's memory in every order, without copying.
TEST(Tensor, WrapsMemoryWithStrides) {
  std::vector<int32_t> memory = {1, 2, 3, 4, 5, 6};
  Tensor all = Tensor::wrap(DataType::Int32, {2, 3}, memory.data());
  EXPECT_TRUE(all.is_wrapped() && all.is_contiguous() && all.is_writable());
  EXPECT_EQ(all.strides(), (std::vector<int64_t>{12, 4}));
  EXPECT_EQ(all.data<int32_t>().data(), memory.data());
  const Tensor same = all, flat = all.reshaped({6});
  all.data<int32_t>()[4] = 50;
  EXPECT_EQ(memory[4], 50);
  EXPECT_EQ(same.to_doubles(), (std::vector<double>{1, 2, 3, 4, 50, 6}));
  EXPECT_EQ(flat.bytes().data(), all.bytes().data());

  const Tensor turned = Tensor::wrap(DataType::Int32, {3, 2}, memory.data(), {4, 12});
  EXPECT_FALSE(turned.is_contiguous());
  EXPECT_EQ(turned.to_floats(), (std::vector<float>{1, 4, 2, 50, 3, 6}));
  EXPECT_EQ(turned.to(DataType::Int8).to_doubles(), (std::vector<double>{1, 4, 2, 50, 3, 6}));
  EXPECT_EQ(turned.reshaped({6}).to_doubles(), (std::vector<double>{1, 4, 2, 50, 3, 6}));
  EXPECT_FALSE(turned.copy().is_wrapped());
  const Tensor backwards = Tensor::wrap(DataType::Int32, {6}, memory.data() + 5, {-4});
  EXPECT_EQ(backwards.to_doubles(), (std::vector<double>{6, 50, 4, 3, 2, 1}));
  const Tensor rows = Tensor::wrap(DataType::Int32, {3, 2}, memory.data(), {0, 8});
  EXPECT_EQ(rows.to_doubles(), (std::vector<double>{1, 3, 1, 3, 1, 3}));
  // Strides of axes of one element are irrelevant, and so are those of empty tensors.
  EXPECT_TRUE(Tensor::wrap(DataType::Int32, {1, 6}, memory.data(), {-7, 4}).is_contiguous());
  EXPECT_TRUE(Tensor::wrap(DataType::Int32, {0, 6}, memory.data(), {1, 1}).is_contiguous());
  EXPECT_EQ(Tensor::wrap(DataType::Float32, {0}, static_cast<float*>(nullptr)).size(), 0);
  EXPECT_EQ(Tensor::wrap(DataType::Int32, {}, memory.data()).to_doubles(), std::vector<double>{1});

  Tensor target = Tensor::wrap(DataType::Int32, {3, 2}, memory.data(), {4, 12});
  const std::vector<int32_t> values = {10, 40, 20, 50, 30, 60};
  target.copy_from(std::as_bytes(std::span(values)));
  EXPECT_EQ(memory, (std::vector<int32_t>{10, 20, 30, 40, 50, 60}));
}

TEST(Tensor, WrapsMemoryOfEveryTypeAndAlignment) {
  for (const DataType type :
       {DataType::Bool, DataType::Int8, DataType::UInt8, DataType::Int16, DataType::UInt16,
        DataType::Int32, DataType::UInt32, DataType::Int64, DataType::UInt64, DataType::Float16,
        DataType::Float32, DataType::Float64}) {
    SCOPED_TRACE(to_string(type));
    const Tensor want = Tensor::from(std::vector<double>{1, 0, 1, 1}, {2, 2}).to(type);
    std::vector<std::byte> memory(want.bytes().size() + 1);
    std::copy(want.bytes().begin(), want.bytes().end(), memory.begin() + 1);
    const Tensor odd = Tensor::wrap(type, {2, 2}, memory.data() + 1);
    EXPECT_EQ(odd.to_doubles(), want.to_doubles());
    EXPECT_TRUE(ranges::equal(odd.bytes(), want.bytes()));
    const Tensor turned =
        Tensor::wrap(type, {2, 2}, memory.data() + 1, {byte_size(type), 2 * byte_size(type)});
    EXPECT_EQ(turned.to_floats(), (std::vector<float>{1, 1, 0, 1}));
  }
  alignas(8) std::byte memory[16] = {};
  const Tensor odd = Tensor::wrap(DataType::Float32, {2}, memory + 1);
  EXPECT_ERROR(odd.data<float>(), ErrorCode::InvalidArgument,
               "the float32 tensor of shape [2] is at an address that is not a multiple of 4");
}

TEST(Tensor, GivesWrappedMemoryBackOnce) {
  float memory[4] = {1, 2, 3, 4};
  int released = 0;
  const auto release = [&] { ++released; };
  {
    Tensor first = Tensor::wrap(DataType::Float32, {4}, memory, {}, release);
    {
      Tensor second = first, third = first.reshaped({2, 2});
      first = Tensor();
      second = std::move(third);
      EXPECT_EQ(second.copy().to_floats(), (std::vector<float>{1, 2, 3, 4}));
      EXPECT_EQ(released, 0);
    }
    EXPECT_EQ(released, 1);
  }
  EXPECT_EQ(released, 1);
  // On errors, the memory stays with the caller.
  EXPECT_ERROR(Tensor::wrap(DataType::Float32, {4}, memory, {1, 1}, release),
               ErrorCode::InvalidArgument, "2 strides for a tensor of shape [4]");
  EXPECT_EQ(released, 1);
}

TEST(Tensor, RefusesMemoryThatCannotBe) {
  float memory[4] = {};
  const std::vector<std::byte> bytes(12);
  EXPECT_ERROR(Tensor::wrap(DataType::String, {4}, memory), ErrorCode::InvalidArgument,
               "strings cannot be wrapped");
  EXPECT_ERROR(Tensor::wrap(DataType::Float32, {4}, static_cast<void*>(nullptr)),
               ErrorCode::InvalidArgument, "a float32 tensor of shape [4] at no address");
  EXPECT_ERROR(Tensor::wrap(DataType::Float32, {-4}, memory), ErrorCode::InvalidArgument,
               "negative size");
  for (const int64_t stride :
       {int64_t{1} << 62, -(int64_t{1} << 62), std::numeric_limits<int64_t>::min()}) {
    EXPECT_ERROR(Tensor::wrap(DataType::Float32, {4}, memory, {stride}), ErrorCode::LimitExceeded,
                 "leaves memory");
  }
  EXPECT_ERROR(Tensor::wrap(DataType::Float32, {2}, memory, {-(int64_t{1} << 50)}),
               ErrorCode::LimitExceeded, "leaves memory");
  Tensor constant = Tensor::wrap(DataType::Float32, {4}, static_cast<const float*>(memory));
  EXPECT_FALSE(constant.is_writable());
  EXPECT_EQ(std::as_const(constant).data<float>().size(), 4U);
  EXPECT_ERROR(constant.data<float>(), ErrorCode::InvalidArgument, "is const memory");
  EXPECT_ERROR(constant.copy_from(std::as_bytes(std::span(memory))), ErrorCode::InvalidArgument,
               "is const memory");
  Tensor every_other = Tensor::wrap(DataType::Float32, {2}, memory, {8});
  EXPECT_ERROR(every_other.data<float>(), ErrorCode::InvalidArgument, "has strides of [8] bytes");
  EXPECT_ERROR(every_other.bytes(), ErrorCode::InvalidArgument, "so its elements are not a span");
  EXPECT_ERROR(every_other.copy_from(bytes), ErrorCode::InvalidArgument, "and 12 bytes");
  EXPECT_ERROR(Tensor(DataType::String, {0}).copy_to({}), ErrorCode::InvalidArgument,
               "a string tensor of shape [0] and 0 bytes");
}

TEST(Tensor, FloatsAreRoundedToNarrowerOnes) {
  EXPECT_EQ(one(0.1).to(DataType::Float32).data<float>()[0], 0.1f);
  EXPECT_EQ(one(0.1f).to(DataType::Float16).to_floats()[0], to_float(to_float16(0.1f)));
  // Halfway between 1 and the next half, and a little more: rounding twice would give 1.
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
  EXPECT_FAULT(Tensor(DataType::String, {1}).to_floats(), "strings are not numbers");
}

TEST(Tensor, AreFoundByName) {
  Values values = {{"x", one(1.0f)}, {"picture", Image{}}};
  EXPECT_EQ(tensor_at(values, "x").size(), 1);
  EXPECT_FAULT(tensor_at(values, "y"), "unknown value 'y'");
  EXPECT_FAULT(tensor_at(values, "picture"), "'picture' is not a tensor");
}

}  // namespace
}  // namespace pippin
