// Compiled neural networks: convolutions, forms of weights, and layers on images.
#include <gtest/gtest.h>

#include "pippin/api/compiled_network_testing.h"

namespace pippin {
namespace {

using wire::field;
using wire::floats;
using wire::single;

// 3 outputs, 2 inputs, kernels of 3 rows and 2 columns.
const std::string kConvolutionSizes =
    field(1, uint64_t{3}) + field(2, uint64_t{2}) + integers(20, {3, 2});
const std::string kConvolutionFields =
    R"("type": "convolution", "C": 3, "K": 2, "Ny": 3, "Nx": 2, "n_groups": 1, "n_parallel": 1, )";

TEST(CompiledNetworks, Convolutions) {
  const std::vector<float> weights = ramp(36), biases = {0.5F, -1, 2};
  const std::string body = kConvolutionSizes + integers(30, {2, 1}) + field(70, uint64_t{1}) +
                           field(90, floats(1, weights)) + field(91, floats(1, biases));
  const std::string fields =
      kConvolutionFields + R"("stride_y": 2, "has_biases": 1, "blob_biases": 1, "blob_weights": 3)";
  const std::vector<std::string> blobs = {float_bytes(biases), float_bytes(weights)};
  expect_same_outputs({"given",
                       100,
                       body + field(50, border(1, {1, 0, 1, 0})),
                       fields + R"(, "pad_mode": 0, "pad_t": 1, "pad_l": 1)",
                       {1, 2, 4, 4},
                       {1, 3, 2, 4},
                       blobs});
  expect_same_outputs({"same",
                       100,
                       body + field(51, ""),
                       fields + R"(, "pad_mode": 1)",
                       {1, 2, 4, 4},
                       {1, 3, 2, 4},
                       blobs});
  expect_same_outputs({"valid",
                       100,
                       body + field(50, ""),
                       fields + R"(, "pad_mode": 2)",
                       {1, 2, 5, 4},
                       {1, 3, 2, 3},
                       blobs});
}

TEST(CompiledNetworks, Weights) {
  const std::string shape = R"(, "pad_mode": 2)";
  const Sizes x = {1, 2, 3, 2}, y = {1, 3, 1, 1};
  const std::string valid = kConvolutionSizes + field(50, "");
  std::string halves, bytes;
  for (int i = 0; i < 36; ++i) {
    halves += std::string("\x00\x38", 2);  // 0.5
    bytes += static_cast<char>(7 * i);
  }
  expect_same_outputs({"fp16",
                       100,
                       valid + field(90, field(2, halves)),
                       kConvolutionFields + R"("blob_weights_f16": 1)" + shape,
                       x,
                       y,
                       {halves}});
  const std::vector<float> scale = {0.5F, 0.25F, 2}, offset = {-1, 0, 3};
  const std::string quantized = field(
      90, field(30, bytes) +
              field(40, field(1, uint64_t{8}) + field(101, floats(1, scale) + floats(2, offset))));
  expect_same_outputs(
      {"bytes",
       100,
       valid + quantized,
       kConvolutionFields +
           R"("weights": {"W_U8": 1, "per_ch_qscale": 3, "per_ch_qbias": 5}, "quantization_mode": 1)" +
           shape,
       x,
       y,
       {bytes, float_bytes(scale), float_bytes(offset)}});
  std::vector<float> ranges = offset;
  for (size_t i = 0; i < 3; ++i) ranges.push_back(offset[i] + 255 * scale[i]);
  expect_same_outputs({"ranges",
                       100,
                       valid + quantized,
                       kConvolutionFields +
                           R"("quantization_lut_weights_blob": 1, "quantization_ranges_blob": 3)" +
                           shape,
                       x,
                       y,
                       {bytes + std::string(28, '\0'), float_bytes(ranges)}});
}

TEST(CompiledNetworks, ImageLayers) {
  expect_same_outputs({"maximum",
                       120,
                       field(1, uint64_t{0}) + integers(10, {2, 3}) + integers(20, {2, 1}) +
                           field(30, border(1, {0, 0, 1, 1})),
                       R"("type": "pool", "avg_or_max": 1, "size_y": 2, "size_x": 3, "stride_y": 2,
                          "stride_x": 1, "pad_l": 1, "pad_r": 1, "pad_mode": 0)",
                       {1, 2, 4, 4},
                       {1, 2, 2, 4}});
  expect_same_outputs({"average",
                       120,
                       field(1, uint64_t{1}) + integers(10, {3, 3}) + integers(20, {2, 2}) +
                           field(31, "") + field(50, uint64_t{1}),
                       R"("type": "pool", "avg_or_max": 0, "size_y": 3, "size_x": 3, "stride_y": 2,
                          "stride_x": 2, "pad_mode": 1, "average_count_exclude_padding": 1)",
                       {1, 2, 4, 4},
                       {1, 2, 2, 2}});
  expect_same_outputs({"last pixel",
                       120,
                       integers(10, {2, 2}) + integers(20, {2, 2}) + field(32, ""),
                       R"("type": "pool", "avg_or_max": 1, "size_y": 2, "size_x": 2, "stride_y": 2,
                          "stride_x": 2, "top_shape_style": 2)",
                       {1, 2, 5, 5},
                       {1, 2, 3, 3}});
  expect_same_outputs(
      {"global",
       120,
       field(1, uint64_t{1}) + field(60, uint64_t{1}),
       R"("type": "pool", "avg_or_max": 0, "is_global": 1, "size_x": 4, "size_y": 4)",
       {1, 2, 4, 4},
       {1, 2, 1, 1}});
  const std::vector<float> weights = ramp(8);
  expect_same_outputs(
      {"transposed",
       100,
       field(1, uint64_t{2}) + field(2, uint64_t{2}) + field(10, uint64_t{2}) +
           integers(20, {2, 2}) + integers(30, {2, 2}) + field(50, "") + field(60, uint64_t{1}) +
           field(90, floats(1, weights)),
       R"("type": "deconvolution", "C": 2, "K": 2, "n_groups": 2, "Nx": 2, "Ny": 2, "stride_x": 2,
          "stride_y": 2, "has_biases": 0, "blob_weights": 1, "pad_mode": 2)",
       {1, 2, 4, 4},
       {1, 2, 8, 8},
       {float_bytes(weights)}});
  expect_same_outputs({"nearest",
                       210,
                       integers(1, {2, 3}),
                       R"("type": "upsample", "mode": 0, "scaling_factor_y": 2,
                          "scaling_factor_x": 3, "is_legacy_mode": 0)",
                       {1, 2, 2, 2},
                       {1, 2, 4, 6}});
  for (const int aligned : {0, 1}) {
    expect_same_outputs({"bilinear",
                         210,
                         integers(1, {2, 2}) + field(5, uint64_t{1}) +
                             field(6, aligned ? uint64_t{1} : uint64_t{2}),
                         fmt::format(R"("type": "upsample", "mode": 1, "scaling_factor_y": 2,
                        "scaling_factor_x": 2, "align_corners": {})",
                                     aligned),
                         {1, 2, 3, 3},
                         {1, 2, 6, 6}});
  }
  expect_same_outputs({"padding",
                       200,
                       field(1, single(1, 3)) + border(10, {1, 2, 0, 1}),
                       R"("type": "general_padding", "pad_t": 1, "pad_b": 2, "pad_r": 1,
                          "pad_pad_mode": 0, "pad_value": 3, "pad_fill_mode": 0)",
                       {1, 2, 2, 2},
                       {1, 2, 5, 3}});
  expect_same_outputs({"reflection",
                       200,
                       field(2, "") + border(10, {1, 1, 1, 1}),
                       R"("type": "general_padding", "pad_t": 1, "pad_b": 1, "pad_l": 1,
                          "pad_r": 1, "pad_pad_mode": 1)",
                       {1, 2, 3, 3},
                       {1, 2, 5, 5}});
  expect_same_outputs({"crop",
                       190,
                       border(1, {1, 0, 2, 1}),
                       R"("type": "crop", "t": 1, "b": 0, "l": 2, "r": 1)",
                       {1, 2, 4, 4},
                       {1, 2, 3, 1}});
  expect_same_outputs({"to depth",
                       345,
                       field(1, uint64_t{0}) + field(2, uint64_t{2}),
                       R"("type": "space_to_depth", "block_size": 2, "reverse": 0)",
                       {1, 2, 4, 4},
                       {1, 8, 2, 2}});
  expect_same_outputs({"shuffle",
                       345,
                       field(1, uint64_t{2}) + field(2, uint64_t{2}),
                       R"("type": "space_to_depth", "block_size": 2, "reverse": 1,
                          "pixel_shuffle": 1)",
                       {1, 4, 2, 2},
                       {1, 1, 4, 4}});
}

}  // namespace
}  // namespace pippin
