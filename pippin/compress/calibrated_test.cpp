#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/compress/calibrated_encoder.h"
#include "pippin/compress/calibration_testing.h"
#include "pippin/compress/error_feedback.h"

namespace pippin::compress {
namespace {

using mil::DataType;

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

// H as ErrorFeedback has it.
double damped(const InputMoments& moments, double damping, int64_t i, int64_t j) {
  const double moment =
      double{moments.products[static_cast<size_t>(std::min(i, j) * moments.size + std::max(i, j))]};
  return i == j ? moment + damping : moment;
}

double hundredth_of_mean(const InputMoments& moments) {
  double trace = 0;
  for (int64_t i = 0; i < moments.size; ++i) trace += damped(moments, 0, i, i);
  return 0.01 * trace / static_cast<double>(moments.size);
}

TEST(ErrorFeedback, OrdersInputsByMoments) {
  InputMoments moments(8);
  const std::vector<float> diagonal = {1, 5, 2, 2, 9, 0, 3, 3};
  for (size_t i = 0; i < 8; ++i) moments.products[i * 9] = diagonal[i];
  EXPECT_EQ(order_of_inputs(moments, 8), (std::vector<int64_t>{4, 1, 6, 7, 2, 3, 0, 5}));
  // Blocks by their sums: 6, 4, 9, 6.
  EXPECT_EQ(order_of_inputs(moments, 2), (std::vector<int64_t>{4, 5, 1, 0, 6, 7, 2, 3}));
  EXPECT_EQ(order_of_inputs(moments, 1), order_of_inputs(moments, 8));
}

TEST(ErrorFeedback, FactorsTheMoments) {
  for (const int64_t size : {1, 5, 64, 150}) {
    const auto inputs = correlated_inputs(400, size, 9);
    const InputMoments moments = moments_of(inputs, size);
    ThreadPool pool(3);
    const double damping = hundredth_of_mean(moments);
    for (const bool ordered : {false, true}) {
      std::vector<int64_t> order(static_cast<size_t>(size));
      std::iota(order.begin(), order.end(), 0);
      if (ordered) order = order_of_inputs(moments, size);
      const ErrorFeedback feedback(moments, order, pool);
      // U D U^T is H with its damping, up to the scale that makes D's mean 1.
      double scale = 0;
      for (int64_t i = size; i-- > 0;) {
        EXPECT_EQ(feedback.row(i)[0], 1);
        for (int64_t j = size; j-- > i;) {
          double sum = 0;
          for (int64_t k = j; k < size; ++k) {
            sum += double{feedback.row(i)[k - i]} *
                   double{feedback.importance()[static_cast<size_t>(k)]} *
                   double{feedback.row(j)[k - j]};
          }
          const double expected = damped(moments, damping, order[static_cast<size_t>(i)],
                                         order[static_cast<size_t>(j)]) /
                                  (100 * damping);
          if (scale == 0) scale = sum / expected;
          EXPECT_NEAR(sum, expected * scale, 2e-4 * scale) << i << " " << j;
        }
      }
    }
  }
}

TEST(ErrorFeedback, MultipliesByTheMoments) {
  for (const int64_t size : {1, 5, 64, 150}) {
    const InputMoments moments = moments_of(correlated_inputs(400, size, 11), size);
    ThreadPool pool(2);
    const ErrorFeedback feedback(moments, order_of_inputs(moments, size), pool);
    const double damping = hundredth_of_mean(moments);
    const auto rows = correlated_inputs(3, size, 12);
    std::vector<float> sums(rows.size());
    feedback.multiply(rows.data(), 3, sums.data());
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t i = 0; i < size; ++i) {
        double sum = 0, magnitude = 0;
        for (int64_t j = 0; j < size; ++j) {
          const double product =
              double{rows[static_cast<size_t>(r * size + j)]} * damped(moments, damping, i, j);
          sum += product;
          magnitude += std::abs(product);
        }
        EXPECT_NEAR(double{sums[static_cast<size_t>(r * size + i)]}, sum, 1e-5 * magnitude);
      }
    }
    for (int64_t i = 0; i < size; ++i) {
      std::vector<float> row(static_cast<size_t>(size)), copy(row.size() + 1, -1.0f);
      feedback.add_row(i, 2, row.data());
      const int64_t first = i / 3, count = std::min<int64_t>(size - first, size / 2 + 1);
      feedback.copy_row(i, first, count, copy.data());
      EXPECT_FLOAT_EQ(feedback.moment(i), static_cast<float>(damped(moments, damping, i, i)));
      for (int64_t j = 0; j < size; ++j) {
        const auto expected = static_cast<float>(damped(moments, damping, i, j));
        EXPECT_FLOAT_EQ(row[static_cast<size_t>(j)], 2 * expected);
        if (j < first || j >= first + count) continue;
        EXPECT_FLOAT_EQ(copy[static_cast<size_t>(j - first)], expected);
      }
      EXPECT_EQ(copy[static_cast<size_t>(count)], -1);
    }
  }
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
        const Encoded calibrated = encode_calibrated(bytes, type, dims, encoding, moments, 2, pool);
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
  for (const int rounds : {0, 3}) {
    for (const bool seen : {false, true}) {
      InputMoments moments(kInputs);  // all zeros, or one constant input
      if (seen) {
        const std::vector<float> same(kInputs * 4, 2.0f);
        add_inputs(moments, same.data(), 4, pool);
      }
      const Encoded encoded = encode_calibrated(bytes, DataType::Float16, {3, kInputs}, encoding,
                                                moments, rounds, pool);
      EXPECT_TRUE(std::isfinite(encoded.squared_error));
      const auto now = decoded(encoded, encoding, {3, kInputs}, DataType::Float16);
      for (size_t i = 0; i < kInputs; ++i) {
        EXPECT_EQ(now[i], 0);
        EXPECT_NEAR(now[kInputs + i], 0.25, 0.02);
      }
      EXPECT_NEAR(now[2 * kInputs + 5], 60000.0, 100);
    }
  }
}

}  // namespace
}  // namespace pippin::compress
