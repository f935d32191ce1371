#include "pippin/compress/job.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/testing.h"
#include "pippin/compress/pack.h"
#include "pippin/mil/elements.h"

namespace pippin::compress {
namespace {

using mil::DataType;

// Counts how often it is read; has no view, like a conversion.
class Source : public mil::TensorSource {
 public:
  Source(std::vector<float> values, DataType type) : type_(type) {
    for (const float value : values) {
      const uint64_t bits = mil::float_to_bits(type, double{value});
      for (int k = 0; k < mil::bit_width(type) / 8; ++k) {
        bytes_.push_back(static_cast<std::byte>(bits >> (8 * k)));
      }
    }
  }
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, MutableByteSpan out) const override {
    ++reads;
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  }
  double value(size_t i) const {
    return mil::bits_to_double(type_, mil::element_bits(type_, bytes_, i));
  }
  mutable int reads = 0;

 private:
  DataType type_;
  std::vector<std::byte> bytes_;
};

std::vector<float> wave(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)) *
                                   std::exp(0.001 * static_cast<double>(i % 977)));
  }
  return values;
}

std::vector<std::byte> read_all(const mil::TensorSource& source, size_t piece) {
  std::vector<std::byte> bytes(source.size());
  for (size_t offset = 0; offset < bytes.size(); offset += piece) {
    source.read(offset, std::span(bytes).subspan(offset, std::min(piece, bytes.size() - offset)));
  }
  return bytes;
}

double float_at(DataType type, const std::vector<std::byte>& bytes, size_t i) {
  return mil::bits_to_double(type, mil::element_bits(type, bytes, i));
}

// In memory, or read; records how much was read and not released.
class LargeSource : public mil::TensorSource {
 public:
  explicit LargeSource(bool in_memory) : in_memory_(in_memory) {
    constexpr size_t kPeriod = 2003;  // divides no piece
    for (size_t i = 0; i < kPeriod; ++i) halves_[i] = to_float16(static_cast<float>(i));
    for (size_t i = kPeriod; i < halves_.size(); ++i) halves_[i] = halves_[i - kPeriod];
  }
  uint64_t size() const override { return halves_.size() * sizeof(float16); }
  ByteSpan view() const override { return in_memory_ ? bytes() : ByteSpan(); }
  void read(uint64_t offset, MutableByteSpan out) const override {
    held += out.size();
    most_held = std::max(most_held, held);
    std::copy_n(bytes().begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  }
  void release() const noexcept override { held = 0; }
  static constexpr int64_t kRows = 5, kColumns = int64_t{1} << 20;
  mutable size_t held = 0, most_held = 0;

 private:
  ByteSpan bytes() const { return std::as_bytes(std::span(halves_)); }
  bool in_memory_;
  std::vector<float16> halves_ = std::vector<float16>(size_t{kRows * kColumns});
};

TEST(Job, HoldsAPieceOfWhatItReads) {
  const auto codes_of = [](const std::shared_ptr<LargeSource>& source) {
    Encoding encoding;
    encoding.linear = {DataType::Int8, true, DataType::Float16};
    encoding.blocks = {LargeSource::kRows, 1};
    const auto job = std::make_shared<Job>("w", source, DataType::Float16,
                                           Dims{LargeSource::kRows, LargeSource::kColumns},
                                           encoding, std::make_shared<Workers>(2));
    return read_all(*job->part(Part::Codes), size_t{1} << 20);
  };
  const auto mapped = std::make_shared<LargeSource>(true),
             read = std::make_shared<LargeSource>(false);
  EXPECT_TRUE(codes_of(read) == codes_of(mapped));
  EXPECT_EQ(mapped->most_held, 0u);
  EXPECT_LT(read->most_held, read->size());
  EXPECT_EQ(read->held, 0u);
}

TEST(Job, ComputesOnceAndFrees) {
  const auto source = std::make_shared<Source>(wave(64 * 96), DataType::Float16);
  Encoding encoding;
  encoding.linear = {DataType::Int4, false, DataType::Float16};
  encoding.blocks = {64, 3};
  const auto job = std::make_shared<Job>("w", source, DataType::Float16, Dims{64, 96}, encoding,
                                         std::make_shared<Workers>(3));
  const auto codes = job->part(Part::Codes), scales = job->part(Part::Scale),
             offsets = job->part(Part::Offset);
  EXPECT_EQ(job->part(Part::Codes), codes);
  EXPECT_EQ(codes->size(), 64u * 96 / 2);
  EXPECT_EQ(scales->size(), 64u * 3 * 2);
  EXPECT_EQ(offsets->size(), 64u * 3 / 2);
  EXPECT_EQ(source->reads, 0);
  EXPECT_FALSE(job->measure());
  const auto q = read_all(*codes, 100), s = read_all(*scales, 1000), z = read_all(*offsets, 7);
  EXPECT_EQ(source->reads, 1);
  double error = 0;
  for (size_t i = 0; i < 64 * 96; ++i) {
    const size_t block = i / 32;
    const auto code = mil::bits_to_int(DataType::Int4, mil::element_bits(DataType::Int4, q, i));
    const auto zero = mil::bits_to_int(DataType::Int4, mil::element_bits(DataType::Int4, z, block));
    const double value = static_cast<double>(code - zero) * float_at(DataType::Float16, s, block);
    error += std::pow(value - source->value(i), 2);
  }
  EXPECT_NEAR(job->measure()->squared_error, error, 1e-4 * error);
  EXPECT_LT(error, 0.01 * job->measure()->energy);
  // Parts that were read are freed, and computed again.
  EXPECT_TRUE(read_all(*codes, 5000) == q);
  EXPECT_EQ(source->reads, 2);
  std::vector<std::byte> two(2);
  EXPECT_ERROR(codes->read(codes->size() - 1, two), ErrorCode::InvalidArgument,
               "2 bytes at 3071 of a part of 3072");
}

TEST(Job, BlocksThatAreNoStretchOfMemory) {
  // Along both axes, and whole tensors with a scale from their distribution.
  for (const DataType type : {DataType::Float16, DataType::Float32}) {
    for (const Dims& blocks : {Dims{4, 300}, Dims{1, 1}, Dims{1, 300}, Dims{512, 1}}) {
      const auto source = std::make_shared<Source>(wave(512 * 300), type);
      Encoding encoding;
      encoding.linear = {DataType::UInt8, true, type};
      encoding.blocks = blocks;
      const auto job = std::make_shared<Job>("w", source, type, Dims{512, 300}, encoding,
                                             std::make_shared<Workers>(2));
      const auto codes = job->part(Part::Codes), scales = job->part(Part::Scale);
      const auto q = read_all(*codes, 1 << 20), s = read_all(*scales, 1 << 20);
      double error = 0;
      for (size_t i = 0; i < 512 * 300; ++i) {
        const auto row = static_cast<int64_t>(i / 300), column = static_cast<int64_t>(i % 300);
        const int64_t block = row / (512 / blocks[0]) * blocks[1] + column / (300 / blocks[1]);
        const double value =
            (static_cast<double>(q[i]) - 128) * float_at(type, s, static_cast<size_t>(block));
        error += std::pow(value - source->value(i), 2);
      }
      EXPECT_NEAR(job->measure()->squared_error, error, 1e-3 * error);
      EXPECT_LT(error, 1e-3 * job->measure()->energy);
    }
  }
}

TEST(Job, PruningKeepsTheLargest) {
  for (const DataType type : {DataType::Float16, DataType::Float32}) {
    std::vector<float> values = wave(1000);
    for (size_t i = 0; i < 300; ++i) values[i * 3] = i % 2 == 0 ? 0.25f : -0.25f;  // equal ones
    const auto source = std::make_shared<Source>(values, type);
    Encoding encoding;
    encoding.form = Encoding::Form::Plain;
    encoding.blocks = {10, 1};
    for (const int64_t kept : {1, 10, 500, 700, 1000}) {
      encoding.kept = kept;
      const auto job = std::make_shared<Job>("w", source, type, Dims{10, 100}, encoding,
                                             std::make_shared<Workers>(2));
      const auto mask = job->part(Part::Mask), left = job->part(Part::Values);
      const auto m = read_all(*mask, 64), v = read_all(*left, 64);
      double smallest = 1e9, largest = 0, error = 0;
      size_t next = 0;
      for (size_t i = 0; i < 1000; ++i) {
        const double magnitude = std::abs(source->value(i));
        if (mil::element_bits(DataType::UInt1, m, i) != 0) {
          smallest = std::min(smallest, magnitude);
          EXPECT_EQ(float_at(type, v, next++), source->value(i));
        } else {
          largest = std::max(largest, magnitude);
          error += magnitude * magnitude;
        }
      }
      EXPECT_EQ(next, static_cast<size_t>(kept));
      EXPECT_GE(smallest, largest);
      EXPECT_NEAR(job->measure()->squared_error, error, 1e-6 * job->measure()->energy);
    }
  }
}

TEST(Job, ValuesThatAreNotFiniteAreNamed) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values = wave(128);
    values[77] = bad;
    for (const auto form :
         {Encoding::Form::Linear, Encoding::Form::Palette, Encoding::Form::Plain}) {
      Encoding encoding;
      encoding.form = form;
      encoding.blocks = {4, 1};
      if (form == Encoding::Form::Plain) encoding.kept = 60;
      const auto job = std::make_shared<Job>(
          "the_weight", std::make_shared<Source>(values, DataType::Float16), DataType::Float16,
          Dims{4, 32}, encoding, std::make_shared<Workers>(1));
      const auto part = job->part(form == Encoding::Form::Plain ? Part::Mask : Part::Codes);
      try {
        read_all(*part, 64);
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("the_weight"), std::string::npos);
      }
    }
  }
}

TEST(Pack, CodesLieWhereTheFormatSays) {
  std::vector<uint8_t> codes(29);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i * 37);
  for (const DataType type : {DataType::UInt1, DataType::UInt2, DataType::UInt3, DataType::UInt4,
                              DataType::UInt6, DataType::UInt8}) {
    const int bits = mil::bit_width(type);
    std::vector<std::byte> out(mil::packed_size(type, 29));
    pack_codes(codes, bits, 16, 29, out);
    pack_codes(codes, bits, 0, 16, out);
    for (size_t i = 0; i < codes.size(); ++i) {
      EXPECT_EQ(mil::element_bits(type, out, i), codes[i] & ((1u << bits) - 1));
    }
  }
}

}  // namespace
}  // namespace pippin::compress
