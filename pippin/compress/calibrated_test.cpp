#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/compress/calibrated_encoder.h"
#include "pippin/compress/error_feedback.h"

namespace pippin::compress {
namespace {

using mil::DataType;

// Inputs with a few dominant directions, as in language models.
std::vector<float> correlated_inputs(int64_t count, int64_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  const int64_t directions = size / 4 + 1;
  std::vector<float> basis(static_cast<size_t>(directions * size));
  for (float& value : basis) value = normal(generator);
  std::vector<float> inputs(static_cast<size_t>(count * size));
  for (int64_t t = 0; t < count; ++t) {
    float* x = inputs.data() + t * size;
    for (int64_t i = 0; i < size; ++i) x[i] = 0.1f * normal(generator);
    for (int64_t d = 0; d < directions; ++d) {
      const float amount = normal(generator) / static_cast<float>(1 + d);
      for (int64_t i = 0; i < size; ++i) x[i] += amount * basis[static_cast<size_t>(d * size + i)];
    }
  }
  return inputs;
}

InputMoments moments_of(const std::vector<float>& inputs, int64_t size, int threads = 2) {
  ThreadPool pool(threads);
  InputMoments moments(size);
  add_inputs(moments, inputs.data(), static_cast<int64_t>(inputs.size()) / size, pool);
  return moments;
}

TEST(InputMoments, AreTheSumsOfProducts) {
  for (const int64_t size : {1, 7, 33, 130}) {
    const auto inputs = correlated_inputs(101, size, 3);
    const InputMoments moments = moments_of(inputs, size);
    EXPECT_EQ(moments.samples, 101);
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = i; j < size; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t t = 0; t < 101; ++t) {
          const double product = double{inputs[static_cast<size_t>(t * size + i)]} *
                                 double{inputs[static_cast<size_t>(t * size + j)]};
          sum += product;
          magnitude += std::abs(product);
        }
        EXPECT_NEAR(double{moments.products[static_cast<size_t>(i * size + j)]}, sum,
                    1e-5 * magnitude);
      }
    }
  }
}

TEST(ErrorFeedback, FactorsTheMoments) {
  for (const int64_t size : {1, 5, 64, 150}) {
    const auto inputs = correlated_inputs(400, size, 9);
    const InputMoments moments = moments_of(inputs, size);
    ThreadPool pool(3);
    const ErrorFeedback feedback(moments, pool);
    double trace = 0;
    for (int64_t i = 0; i < size; ++i) {
      trace += double{moments.products[static_cast<size_t>(i * size + i)]};
      EXPECT_EQ(feedback.row(i)[0], 1);
    }
    const double mean = trace / static_cast<double>(size);
    // U D U^T is H with its damping, up to the scale that makes D's mean 1.
    double scale = 0;
    for (int64_t i = size; i-- > 0;) {
      for (int64_t j = size; j-- > i;) {
        double sum = 0;
        for (int64_t k = j; k < size; ++k) {
          sum += double{feedback.row(i)[k - i]} *
                 double{feedback.importance()[static_cast<size_t>(k)]} *
                 double{feedback.row(j)[k - j]};
        }
        double expected = double{moments.products[static_cast<size_t>(i * size + j)]} / mean;
        if (i == j) expected += 0.01;
        if (scale == 0) scale = sum / expected;
        EXPECT_NEAR(sum, expected * scale, 2e-4 * scale) << i << " " << j;
      }
    }
  }
}

struct Problem {
  int64_t channels, inputs;
  Encoding encoding;
};

std::vector<std::byte> packed_values(const std::vector<float>& values, DataType type) {
  std::vector<std::byte> bytes;
  for (const float value : values) {
    const uint16_t half = to_float16(value).bits;
    const auto from = type == DataType::Float16 ? std::as_bytes(std::span(&half, 1))
                                                : std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), from.begin(), from.end());
  }
  return bytes;
}

// The values of the codes, in the layout of the weight.
std::vector<double> decoded(const Encoded& encoded, const Encoding& encoding, const Dims& dims,
                            DataType type) {
  std::vector<double> result;
  for (int64_t a = 0; a < dims[0]; ++a) {
    for (int64_t b = 0; b < dims[1]; ++b) {
      const auto block =
          static_cast<size_t>(a / (dims[0] / encoding.blocks[0]) * encoding.blocks[1] +
                              b / (dims[1] / encoding.blocks[1]));
      const uint8_t code = encoded.codes.codes()[a * dims[1] + b];
      if (encoding.form == Encoding::Form::Palette) {
        const float entry = encoded.luts[(block << encoding.bits) + code];
        const float scale = encoding.int8_lut ? encoded.scales[block] : 1.0f;
        result.push_back(double{to_float(to_float16(entry * scale))});
        if (type == DataType::Float32) result.back() = double{entry * scale};
        continue;
      }
      const bool is_signed = encoding.linear.lowest() < 0;
      const int q = is_signed ? static_cast<int8_t>(code) : code;
      const int offset =
          is_signed ? static_cast<int8_t>(encoded.offsets[block]) : encoded.offsets[block];
      result.push_back((q - offset) * double{encoded.scales[block]});
    }
  }
  return result;
}

TEST(Calibrated, OutputsAreNearerThanRounded) {
  constexpr int64_t kChannels = 40, kInputs = 192;
  std::mt19937 generator(2);
  std::normal_distribution<float> normal(0.0f, 0.05f);
  std::vector<float> values(kChannels * kInputs);
  for (float& value : values) value = normal(generator);
  const auto seen = correlated_inputs(1000, kInputs, 4);
  const InputMoments moments = moments_of(seen, kInputs);
  ThreadPool pool(2);
  struct Case {
    Encoding::Form form;
    DataType data;
    bool symmetric;
    int64_t group, block;
    int bits;
    bool int8_lut;
  };
  using Form = Encoding::Form;
  const std::vector<Case> cases = {
      {Form::Linear, DataType::Int4, true, 1, 32, 0, false},
      {Form::Linear, DataType::UInt4, false, 1, 96, 0, false},
      {Form::Linear, DataType::UInt4, true, 1, 192, 0, false},
      {Form::Linear, DataType::Int8, true, 1, 192, 0, false},
      {Form::Linear, DataType::Int4, true, 40, 192, 0, false},
      {Form::Linear, DataType::Int4, false, 2, 24, 0, false},
      {Form::Palette, DataType::Int4, true, 8, 192, 3, false},
      {Form::Palette, DataType::Int4, true, 40, 192, 4, true},
  };
  for (const Case& one : cases) {
    for (const bool turned : {false, true}) {
      for (const DataType type : {DataType::Float16, DataType::Float32}) {
        Encoding encoding;
        encoding.form = one.form;
        encoding.linear = {one.data, one.symmetric, type};
        encoding.bits = one.bits;
        encoding.int8_lut = one.int8_lut;
        encoding.channel_axis = turned ? 1 : 0;
        encoding.input_axis = turned ? 0 : 1;
        Dims dims = {kChannels, kInputs};
        encoding.blocks = {kChannels / one.group, kInputs / one.block};
        std::vector<float> stored = values;
        if (turned) {
          std::swap(dims[0], dims[1]);
          std::swap(encoding.blocks[0], encoding.blocks[1]);
          for (int64_t c = 0; c < kChannels; ++c) {
            for (int64_t i = 0; i < kInputs; ++i) {
              stored[static_cast<size_t>(i * kChannels + c)] =
                  values[static_cast<size_t>(c * kInputs + i)];
            }
          }
        }
        const auto bytes = packed_values(stored, type);
        ASSERT_TRUE(can_calibrate(dims, encoding));
        // Plain codes may be packed; compares one scale per block.
        const Encoded calibrated = encode_calibrated(bytes, type, dims, encoding, moments, pool);
        Encoded plain = encode(bytes, type, dims, encoding, pool);
        if (!plain.packed.empty()) {
          plain.codes = Buffer(static_cast<size_t>(kChannels * kInputs));
          for (size_t i = 0; i < plain.codes.size(); ++i) {
            uint8_t code = plain.packed.codes()[i / 2] >> (i % 2 * 4) & 15;
            if (one.data == DataType::Int4 && code > 7) code |= 0xf0;
            plain.codes.codes()[i] = code;
          }
        }
        const auto output_error = [&](const Encoded& encoded) {
          const auto now = decoded(encoded, encoding, dims, type);
          double error = 0;
          for (int64_t t = 0; t < 1000; ++t) {
            for (int64_t c = 0; c < kChannels; ++c) {
              double sum = 0;
              for (int64_t i = 0; i < kInputs; ++i) {
                const auto at = static_cast<size_t>(turned ? i * kChannels + c : c * kInputs + i);
                sum += (double{stored[at]} - now[at]) *
                       double{seen[static_cast<size_t>(t * kInputs + i)]};
              }
              error += sum * sum;
            }
          }
          return error;
        };
        const double least = output_error(calibrated);
        EXPECT_LT(least, 0.6 * output_error(plain))
            << to_string(one.data) << " " << one.group << " " << one.block << " " << turned;
        const auto now = decoded(calibrated, encoding, dims, type);
        double error = 0;
        for (size_t i = 0; i < now.size(); ++i) error += std::pow(double{stored[i]} - now[i], 2);
        EXPECT_NEAR(calibrated.squared_error, error, 0.02 * error);
      }
    }
  }
}

TEST(Calibrated, UglyWeightsAndInputs) {
  constexpr int64_t kInputs = 32;
  ThreadPool pool(2);
  Encoding encoding;
  encoding.linear = {DataType::Int4, true, DataType::Float16};
  encoding.input_axis = 1;
  encoding.blocks = {3, 1};
  std::vector<float> values(3 * kInputs);
  for (size_t i = 0; i < kInputs; ++i) {
    values[kInputs + i] = 0.25f;
    values[2 * kInputs + i] = i == 5 ? 60000.0f : 0x1p-24f;
  }
  const auto bytes = packed_values(values, DataType::Float16);
  for (const bool seen : {false, true}) {
    InputMoments moments(kInputs);  // all zeros, or one constant input
    if (seen) {
      const std::vector<float> same(kInputs * 4, 2.0f);
      add_inputs(moments, same.data(), 4, pool);
    }
    const Encoded encoded =
        encode_calibrated(bytes, DataType::Float16, {3, kInputs}, encoding, moments, pool);
    EXPECT_TRUE(std::isfinite(encoded.squared_error));
    const auto now = decoded(encoded, encoding, {3, kInputs}, DataType::Float16);
    for (size_t i = 0; i < kInputs; ++i) {
      EXPECT_EQ(now[i], 0);
      EXPECT_NEAR(now[kInputs + i], 0.25, 0.02);
    }
    EXPECT_NEAR(now[2 * kInputs + 5], 60000.0, 100);
  }
}

}  // namespace
}  // namespace pippin::compress
