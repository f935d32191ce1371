#include "pippin/compress/improve.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pippin/compress/calibrated_encoder.h"
#include "pippin/compress/calibration_testing.h"
#include "pippin/compress/fit_palettes.h"
#include "pippin/compress/levels.h"

namespace pippin::compress {
namespace {

using mil::DataType;

constexpr int64_t kChannels = 24, kInputs = 96;

// A weight with its inputs, in fp32, and everything by its definition, in doubles.
struct ImprovedWeight {
  explicit ImprovedWeight(const Encoding& form, uint32_t seed = 5)
      : encoding(form),
        moments(moments_of(correlated_inputs(600, kInputs, seed), kInputs)),
        feedback(moments, order_of_inputs(moments, kInputs / form.blocks[1]), pool) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0.0f, 0.05f);
    for (float& value : values) value = normal(generator);
    bytes = packed_values(values, DataType::Float32);
  }

  Encoded encoded(int rounds) {
    return encode_calibrated(bytes, DataType::Float32, dims, encoding, moments, rounds, pool);
  }
  double h(int64_t i, int64_t j) const {
    std::vector<float> value(1);
    feedback.copy_row(i, j, 1, value.data());
    return double{value[0]};
  }
  size_t block(int64_t channel, int64_t input) const {
    return MatrixView(bytes, DataType::Float32, dims, encoding).block_index(channel, input);
  }
  double value(const Encoded& encoded, int64_t channel, int64_t input) const {
    const Levels levels(encoded, encoding, block(channel, input), DataType::Float32);
    return double{levels.value(encoded.codes.codes()[channel * kInputs + input])};
  }
  std::vector<double> differences(const Encoded& encoded, int64_t channel) const {
    std::vector<double> result;
    result.reserve(kInputs);
    for (int64_t i = 0; i < kInputs; ++i) {
      result.push_back(double{values[static_cast<size_t>(channel * kInputs + i)]} -
                       value(encoded, channel, i));
    }
    return result;
  }
  // H times the differences of a channel.
  std::vector<double> gradients(const Encoded& encoded, int64_t channel) const {
    const auto error = differences(encoded, channel);
    std::vector<double> result(kInputs);
    for (int64_t i = 0; i < kInputs; ++i) {
      for (int64_t j = 0; j < kInputs; ++j) {
        result[static_cast<size_t>(i)] += h(i, j) * error[static_cast<size_t>(j)];
      }
    }
    return result;
  }
  double output_error(const Encoded& encoded) const {
    double sum = 0;
    for (int64_t c = 0; c < kChannels; ++c) {
      const auto error = differences(encoded, c), gradient = gradients(encoded, c);
      for (size_t i = 0; i < error.size(); ++i) sum += error[i] * gradient[i];
    }
    return sum;
  }

  ThreadPool pool{2};
  Dims dims = {kChannels, kInputs};
  Encoding encoding;
  InputMoments moments;
  ErrorFeedback feedback;
  std::vector<float> values = std::vector<float>(kChannels * kInputs);
  std::vector<std::byte> bytes;
};

Encoding linear_form(DataType data, bool symmetric, int64_t channels, int64_t inputs) {
  Encoding encoding;
  encoding.linear = {data, symmetric, DataType::Float32};
  encoding.input_axis = 1;
  encoding.blocks = {kChannels / channels, kInputs / inputs};
  return encoding;
}

Encoding palette_form(int bits, int64_t channels, bool int8_lut = false) {
  Encoding encoding;
  encoding.form = Encoding::Form::Palette;
  encoding.bits = bits;
  encoding.int8_lut = int8_lut;
  encoding.input_axis = 1;
  encoding.blocks = {kChannels / channels, 1};
  return encoding;
}

std::vector<Encoding> improved_forms() {
  return {linear_form(DataType::Int4, true, 1, 32),
          linear_form(DataType::UInt4, false, 1, 8),
          linear_form(DataType::Int4, true, 1, 96),
          linear_form(DataType::Int8, true, 1, 96),
          linear_form(DataType::UInt4, true, 8, 96),
          palette_form(1, 8),
          palette_form(2, 8),
          palette_form(3, 24),
          palette_form(2, 4, true),
          palette_form(6, 24)};
}

TEST(Improve, LowersTheErrorOfProducts) {
  for (const Encoding& form : improved_forms()) {
    SCOPED_TRACE(static_cast<int>(form.form) * 1000 + form.bits);
    ImprovedWeight problem(form);
    double before = 0;
    for (const int rounds : {0, 1, 4}) {
      const Encoded encoded = problem.encoded(rounds);
      const double error = problem.output_error(encoded);
      EXPECT_NEAR(encoded.output_error, error, 2e-3 * error);
      double squared = 0;
      for (int64_t c = 0; c < kChannels; ++c) {
        for (const double one : problem.differences(encoded, c)) squared += one * one;
      }
      EXPECT_NEAR(encoded.squared_error, squared, 1e-4 * squared);
      if (rounds == 1) {
        EXPECT_LT(error, before);
      } else if (rounds > 1) {
        EXPECT_LT(error, before * 1.0001);
      }
      before = error;
    }
  }
}

// The result cannot be improved by any single code.
TEST(Improve, EachCodeIsTheBestForAllOthers) {
  for (const Encoding& form : improved_forms()) {
    ImprovedWeight problem(form);
    const Encoded encoded = problem.encoded(30);
    int64_t better = 0;
    for (int64_t c = 0; c < kChannels; ++c) {
      const auto gradients = problem.gradients(encoded, c);
      for (int64_t i = 0; i < kInputs; ++i) {
        const Levels levels(encoded, form, problem.block(c, i), DataType::Float32);
        const double now = problem.value(encoded, c, i);
        const int codes = form.form == Encoding::Form::Palette ? 1 << form.bits : 256;
        const bool narrow =
            form.form == Encoding::Form::Linear && form.linear.data != DataType::Int8;
        for (int code = 0; code < codes; ++code) {
          const int number = form.linear.lowest() < 0 ? static_cast<int8_t>(code) : code;
          if (narrow && (number < form.linear.lowest() || number > form.linear.highest())) continue;
          const double step = double{levels.value(static_cast<uint8_t>(code))} - now;
          const double change =
              step * (step * problem.h(i, i) - 2 * gradients[static_cast<size_t>(i)]);
          if (change < -1e-6 * encoded.output_error) ++better;
        }
      }
    }
    EXPECT_EQ(better, 0) << form.bits;
  }
}

// The new palette solves the normal equations, here by their definition.
TEST(Improve, PalettesAreFittedByLeastSquares) {
  for (const int64_t channels : {3, 24}) {
    ImprovedWeight problem(palette_form(3, channels));
    Encoded encoded = problem.encoded(0);
    Encoded before;
    before.codes = Buffer(encoded.codes.size());
    std::copy_n(encoded.codes.codes(), encoded.codes.size(), before.codes.codes());
    before.luts = encoded.luts;
    const double error_before = problem.output_error(before);
    const MatrixView view(problem.bytes, DataType::Float32, problem.dims, problem.encoding);
    fit_palettes({view, problem.encoding, DataType::Float32, problem.feedback, encoded},
                 problem.pool);
    EXPECT_LT(problem.output_error(encoded), error_before);
    for (int64_t first = 0; first < kChannels; first += channels) {
      std::vector<double> slopes(8), sizes(8);
      for (int64_t c = first; c < first + channels; ++c) {
        const auto now = problem.gradients(encoded, c), then = problem.gradients(before, c);
        for (int64_t i = 0; i < kInputs; ++i) {
          slopes[encoded.codes.codes()[c * kInputs + i]] += now[static_cast<size_t>(i)];
          sizes[encoded.codes.codes()[c * kInputs + i]] += std::abs(then[static_cast<size_t>(i)]);
        }
      }
      for (size_t entry = 0; entry < 8; ++entry) {
        EXPECT_NEAR(slopes[entry], 0, 1e-3 * sizes[entry]) << entry;
      }
    }
  }
}

// With one block per channel, the scale is the quotient of two sums over H.
TEST(Improve, ScalesAreFittedByLeastSquares) {
  ImprovedWeight problem(linear_form(DataType::Int4, true, 1, 96));
  Encoded encoded = problem.encoded(0);
  const MatrixView view(problem.bytes, DataType::Float32, problem.dims, problem.encoding);
  const CodedMatrix matrix = {view, problem.encoding, DataType::Float32, problem.feedback, encoded};
  RowsOfCodes rows(matrix, kChannels);
  rows.load(0, kChannels);
  rows.compute_gradients();
  const double before = rows.output_error();
  EXPECT_TRUE(rows.fit_scales());
  EXPECT_LT(rows.output_error(), before);
  for (int64_t c = 0; c < kChannels; ++c) {
    const auto gradients = problem.gradients(encoded, c);
    double slope = 0, size = 0;
    for (int64_t i = 0; i < kInputs; ++i) {
      const double now = problem.value(encoded, c, i);
      slope += now * gradients[static_cast<size_t>(i)];
      size += std::abs(now * gradients[static_cast<size_t>(i)]);
    }
    EXPECT_NEAR(slope, 0, 1e-3 * size);
  }
}

}  // namespace
}  // namespace pippin::compress
