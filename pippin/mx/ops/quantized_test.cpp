#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

TEST(Quantized, ComesBackWithinAStep) {
  for (const Dtype dtype : {float32, float16, bfloat16}) {
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      for (const int group : {32, 64, 128}) {
        const array w = normal_array({5, 256}, dtype, 1);
        const std::vector<array> q = quantize(w, group, bits);
        EXPECT_EQ(q[0].shape(), Shape({5, 256 * bits / 32}));
        EXPECT_EQ(q[1].shape(), Shape({5, 256 / group}));
        EXPECT_EQ(q[1].dtype(), dtype);
        const std::vector<double> back = numbers(dequantize(q[0], q[1], q[2], group, bits));
        const std::vector<double> before = numbers(w), scales = numbers(q[1]);
        for (size_t i = 0; i < back.size(); ++i) {
          // The far end of a range may be up to a step beyond the last code.
          const double step = std::fabs(scales[i / static_cast<size_t>(group)]);
          EXPECT_NEAR(back[i], before[i], step * 1.1 + 4 * tolerance(dtype))
              << to_string(dtype) << bits << " " << group;
        }
      }
    }
  }
}

TEST(Quantized, MultipliesAsWhatItMeans) {
  for (const Dtype dtype : {float32, float16, bfloat16}) {
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      for (const int group : {32, 64, 128}) {
        const array w = normal_array({40, 128}, dtype, 2);
        const std::vector<array> q = quantize(w, group, bits);
        const array whole = dequantize(q[0], q[1], q[2], group, bits, "affine", float32);
        for (const int rows : {1, 3, 8, 20}) {
          const array x = normal_array({2, rows, 128}, dtype, 3);
          const array y = normal_array({rows, 40}, dtype, 4);
          for (const array& layout : layouts(x)) {
            expect_numbers(quantized_matmul(layout, q[0], q[1], q[2], true, group, bits),
                           numbers(matmul(astype(x, float32), transpose(whole))),
                           2 * tolerance(dtype), "transposed", 20 * tolerance(dtype));
          }
          expect_numbers(quantized_matmul(y, q[0], q[1], q[2], false, group, bits),
                         numbers(matmul(astype(y, float32), whole)), 2 * tolerance(dtype), "plain",
                         20 * tolerance(dtype));
        }
      }
    }
  }
}

// Products of one x are computed together, with the same bits as alone.
TEST(Quantized, ProductsOfOneArrayGoTogether) {
  for (const Dtype dtype : {float32, float16}) {
    for (const int bits : {4, 3}) {
      for (const int rows : {1, 7, 20}) {
        const array x = normal_array({1, rows, 128}, dtype, 3);
        std::vector<std::vector<array>> weights;
        for (const int n : {7, 40, 1, 600}) {
          weights.push_back(quantize(normal_array({n, 128}, dtype, 4), 32, bits));
          eval(weights.back());
        }
        const auto product = [&](const array& of, size_t i) {
          const std::vector<array>& w = weights[i];
          return quantized_matmul(of, w[0], w[1], w[2], true, 32, bits);
        };
        std::vector<array> together, alone;
        for (size_t i = 0; i < weights.size(); ++i) {
          together.push_back(product(x, i));
          alone.push_back(product(x, i));
          alone.back().eval();
        }
        // One that depends on another, and one of another array.
        together.push_back(product(slice(together[3], {0, 0, 0}, {1, rows, 128}), 1));
        together.push_back(product(add(x, x), 0));
        alone.push_back(product(slice(alone[3], {0, 0, 0}, {1, rows, 128}), 1));
        alone.push_back(product(add(x, x), 0));
        eval(together);
        for (size_t i = 0; i < alone.size(); ++i) {
          alone[i].eval();
          expect_numbers(together[i], numbers(alone[i]), 0, "product " + std::to_string(i));
        }
      }
    }
  }
}

TEST(Quantized, ChoosesMatrices) {
  const array w = normal_array({3, 16, 64}, float32, 5);
  const std::vector<array> q = quantize(w, 32, 4);
  const array whole = dequantize(q[0], q[1], q[2], 32, 4);
  const array x = normal_array({4, 1, 64}, float32, 6), chosen({2, 0, 0, 1});
  expect_numbers(gather_qmm(x, q[0], q[1], q[2], std::nullopt, chosen, true, 32, 4),
                 numbers(gather_mm(x, swapaxes(whole, -1, -2), std::nullopt, chosen)), 1e-4,
                 "gather_qmm", 1e-4);
  expect_numbers(quantized_matmul(slice(x, {0, 0, 0}, {3, 1, 64}), q[0], q[1], q[2], true, 32, 4),
                 numbers(matmul(slice(x, {0, 0, 0}, {3, 1, 64}), swapaxes(whole, -1, -2))), 1e-4,
                 "batches", 1e-4);
}

TEST(Quantized, RefusesWhatDoesNotFit) {
  const std::vector<array> q = quantize(ones({8, 64}), 32, 4);
  EXPECT_ERROR(quantize(ones({8, 60}), 32, 4), ErrorCode::InvalidArgument, "[quantize]");
  EXPECT_ERROR(quantize(ones({8, 64}), 16, 4), ErrorCode::InvalidArgument, "Groups are of 32");
  EXPECT_ERROR(quantize(ones({8, 64}), 32, 7), ErrorCode::InvalidArgument, "bits");
  EXPECT_ERROR(quantize(ones({8, 64}), 32, 4, "mxfp4"), ErrorCode::Unsupported, "mxfp4");
  EXPECT_ERROR(quantized_matmul(ones({1, 32}), q[0], q[1], q[2], true, 32, 4),
               ErrorCode::InvalidArgument, "[quantized_matmul]");
  EXPECT_ERROR(quantized_matmul(ones({1, 64}), q[0], q[1], q[2], true, 64, 4),
               ErrorCode::InvalidArgument, "do not go together");
  EXPECT_EQ(sum(dequantize(q[0], q[1], q[2], 32, 4)).item<float>(), 512);
}

}  // namespace
}  // namespace pippin::mx
