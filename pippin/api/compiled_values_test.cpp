// Compiled neural networks: layers on elements, axes and matrices.
#include <gtest/gtest.h>

#include "pippin/api/compiled_network_testing.h"

namespace pippin {
namespace {

using wire::field;
using wire::floats;
using wire::single;

TEST(CompiledNetworks, Elementwise) {
  const std::pair<int, uint32_t> of_two[] = {{0, 230},   {1, 231},   {22, 261},  {23, 260},
                                             {13, 885},  {33, 905},  {36, 865},  {100, 815},
                                             {102, 890}, {103, 825}, {104, 827}, {105, 830},
                                             {106, 832}, {107, 820}, {1021, 895}};
  for (const auto& [code, type] : of_two) {
    expect_same_outputs({fmt::format("operation {}", code),
                         type,
                         "",
                         fmt::format(R"("type": "elementwise", "operation": {}, "alpha": 1,
                                        "beta": 0, "nd_mode": true)",
                                     code),
                         {1, 2, 4, 4},
                         {1, 2, 4, 4},
                         {},
                         2});
  }
  expect_same_outputs({"where",
                       1330,
                       "",
                       R"("type": "elementwise", "operation": 101)",
                       {1, 2, 4, 4},
                       {1, 2, 4, 4},
                       {},
                       3});
  const std::pair<int, uint32_t> of_one[] = {{35, 700},  {37, 685},  {38, 680},  {114, 715},
                                             {115, 710}, {117, 670}, {118, 665}, {121, 720},
                                             {122, 755}, {123, 750}, {124, 760}, {125, 735},
                                             {126, 730}, {127, 740}, {129, 770}};
  for (const auto& [code, type] : of_one) {
    expect_same_outputs({fmt::format("operation {}", code), type, "",
                         fmt::format(R"("type": "elementwise", "operation": {})", code)});
  }
  const std::pair<int, uint64_t> unary[] = {{10, 2}, {11, 0}, {12, 1}, {24, 6}, {26, 5}, {27, 4}};
  for (const auto& [code, type] : unary) {
    expect_same_outputs({fmt::format("operation {}", code), 220,
                         field(1, type) + single(3, 0.5F) + single(5, 1),
                         fmt::format(R"("type": "elementwise", "operation": {}, "alpha": 1,
                                        "eps": 0.5)",
                                     code)});
  }
  const auto with_alpha = [](int code, uint32_t type, const std::string& published) {
    expect_same_outputs({fmt::format("operation {}", code), type, published,
                         fmt::format(R"("type": "elementwise", "operation": {}, "alpha": 0.25,
                                        "beta": 0.5)",
                                     code)});
  };
  with_alpha(2, 230, single(1, 0.25F));
  with_alpha(3, 231, single(1, 0.25F));
  with_alpha(25, 220, field(1, uint64_t{7}) + single(2, 0.25F) + single(5, 1));
  with_alpha(119, 660, single(1, 0.25F) + single(2, 0.5F));
  with_alpha(131, 825, single(2, 0.25F));
  with_alpha(136, 815, single(1, 0.25F));
}

TEST(CompiledNetworks, Activations) {
  const std::string both = single(1, 0.5F) + single(2, 0.25F), alpha = single(1, 0.5F);
  const std::tuple<int, uint32_t, std::string> modes[] = {
      {0, 10, ""},   {1, 30, ""},    {2, 15, alpha}, {3, 40, ""},  {5, 31, both}, {6, 5, both},
      {7, 41, both}, {8, 50, alpha}, {9, 20, alpha}, {10, 70, ""}, {12, 60, ""}};
  for (const auto& [mode, type, parameters] : modes) {
    expect_same_outputs({fmt::format("mode {}", mode), 130, field(type, parameters),
                         fmt::format(R"("type": "activation", "mode": {}, "alpha": 0.5,
                                        "beta": 0.25)",
                                     mode)});
  }
  for (const auto& [mode, published] : {std::pair{19, 0}, {21, 1}, {22, 2}}) {
    expect_same_outputs({fmt::format("mode {}", mode), 795,
                         field(1, static_cast<uint64_t>(published)),
                         fmt::format(R"("type": "activation", "mode": {})", mode)});
  }
}

TEST(CompiledNetworks, ShapesAndAxes) {
  const Sizes cube = {2, 3, 4};
  expect_same_outputs(
      {"concat", 320, "", R"("type": "concat", "axis": 2)", {1, 2, 2, 2}, {1, 4, 2, 2}, {}, 2});
  expect_same_outputs({"concat of rows",
                       980,
                       integers(1, {-2}),
                       R"("type": "concat", "axis": 1)",
                       cube,
                       {2, 6, 4},
                       {},
                       2});
  expect_same_outputs({"split",
                       975,
                       integers(1, {2}) + field(2, uint64_t{2}),
                       R"("type": "split_nd", "nd_axis": 2, "begin_0": 0, "begin_1": 0)",
                       cube,
                       {2, 3, 2},
                       {},
                       1,
                       2});
  for (const char* begins : {R"("begin_0": 0, "begin_1": 1)", R"("begin_0": 0, "begin_1": 0)"}) {
    expect_same_outputs({"uneven split",
                         975,
                         integers(1, {-1}) + integers(3, {1, 3}),
                         fmt::format(R"("type": "split_nd", "nd_axis": -1, {})", begins),
                         cube,
                         {2, 3, 1},
                         {},
                         1,
                         2,
                         {2, 3, 3}});
  }
  expect_same_outputs({"stack",
                       925,
                       field(1, uint64_t{0}),
                       R"("type": "stack_nd", "nd_axis": 0)",
                       cube,
                       {2, 2, 3, 4},
                       {},
                       2});
  expect_same_outputs({"expand",
                       1125,
                       integers(1, {0, 4}),
                       R"("type": "expand_dims", "size_of_axes": 2, "axes_0": 0, "axes_1": 4)",
                       cube,
                       {1, 2, 3, 4, 1}});
  expect_same_outputs({"squeeze",
                       1120,
                       integers(1, {1}),
                       R"("type": "squeeze", "version": 1, "size_of_axes": 1, "axes_0": 1)",
                       {2, 1, 3},
                       {2, 3}});
  expect_same_outputs({"reshape",
                       1140,
                       integers(1, {-1, 4}),
                       R"("type": "reshape", "mode": 0, "dst_nd_rank": 2, "dst_w": 4, "dst_h": -1,
                          "dst_k": 1, "dst_n": 1, "dst_seq": 1, "dynamic_shape": false,
                          "version": 1)",
                       cube,
                       {6, 4}});
  expect_same_outputs({"transpose",
                       985,
                       integers(1, {2, 0, 1}),
                       R"("type": "transpose", "axis_w": 1, "axis_h": 2, "axis_k": 0, "axis_n": 3,
                          "axis_seq": 4)",
                       cube,
                       {4, 2, 3}});
  expect_same_outputs({"tile",
                       920,
                       integers(1, {1, 2, 3}),
                       R"("type": "tile", "dst_w": 3, "dst_h": 2, "dst_k": 1, "dst_n": 1)",
                       cube,
                       {2, 6, 12}});
  expect_same_outputs({"product",
                       1045,
                       field(2, uint64_t{1}),
                       R"("type": "batch_matmul", "transpose_y": true)",
                       cube,
                       {2, 3, 3},
                       {},
                       2});
  expect_same_outputs({"sum",
                       1270,
                       integers(1, {1}),
                       R"("type": "reduce", "mode": 0, "nd_axis": 1, "nd_mode": true)",
                       cube,
                       {2, 4}});
  expect_same_outputs({"largest",
                       1025,
                       integers(1, {2}),
                       R"("type": "reduce", "mode": 11, "nd_axis": 2, "nd_mode": true)",
                       cube,
                       {2, 3, 1}});
  expect_same_outputs({"softmax", 175, "", R"("type": "softmax", "C": 2)"});
  expect_same_outputs(
      {"softmax of an axis", 950, integers(1, {-1}), R"("type": "softmax_nd", "nd_axis": -1)"});
  for (const uint64_t mode : {0, 1}) {
    expect_same_outputs({"flatten",
                         301,
                         field(1, mode),
                         fmt::format(R"("type": "flatten", "mode": {}, "nd_axis": 0)", mode),
                         {1, 2, 4, 4},
                         {1, 32, 1, 1}});
  }
}

TEST(CompiledNetworks, LayersWithWeights) {
  const std::vector<float> weights = ramp(6), biases = {1, -2};
  const std::string matrix = field(20, floats(1, weights)) + field(21, floats(1, biases));
  const std::string fields =
      R"("type": "inner_product", "nB": 3, "nC": 2, "has_biases": 1, "blob_biases": 1,
         "blob_weights": 3, "has_relu": 0, "has_tanh": 0, "has_prelu": 0)";
  // Biases fill a quarter of their blob.
  const std::vector<std::string> blobs = {float_bytes({1, -2, 0, 0, 0, 0, 0, 0}),
                                          float_bytes(weights)};
  expect_same_outputs({"rows",
                       140,
                       field(1, uint64_t{3}) + field(2, uint64_t{2}) + matrix,
                       fields,
                       {4, 3},
                       {4, 2},
                       blobs});
  expect_same_outputs({"channels",
                       140,
                       field(1, uint64_t{3}) + field(2, uint64_t{2}) + matrix,
                       fields,
                       {1, 3, 1, 1},
                       {1, 2, 1, 1},
                       blobs});
  expect_same_outputs({"last axis",
                       1045,
                       field(5, uint64_t{3}) + field(6, uint64_t{2}) +
                           field(8, floats(1, weights)) + field(9, floats(1, biases)),
                       fields + R"(, "nd_mode": true)",
                       {1, 2, 2, 3},
                       {1, 2, 2, 2},
                       blobs});
  const auto parameters = [](const std::vector<std::vector<float>>& rows) {
    std::string body = field(1, uint64_t{2}) + single(10, 0.5F);
    for (size_t i = 0; i < rows.size(); ++i) {
      body += field(static_cast<uint32_t>(15 + i), floats(1, rows[i]));
    }
    return body;
  };
  const std::vector<std::string> by_channel = {float_bytes({2, 1, 0.5F, 4, 3, -1, 0.25F, 9})};
  expect_same_outputs({"batchnorm",
                       160,
                       parameters({{2, 3}, {1, -1}, {0.5F, 0.25F}, {4, 9}}),
                       R"("type": "batchnorm", "C": 2, "blob_batchnorm_params": 1,
                          "training_eps": 0.5)",
                       {1, 2, 4, 4},
                       {1, 2, 4, 4},
                       by_channel});
  expect_same_outputs(
      {"instances",
       160,
       parameters({{2, 3}, {1, -1}}) + field(5, uint64_t{1}) + field(6, uint64_t{1}),
       R"("type": "batchnorm", "C": 2, "blob_batchnorm_params": 1,
                          "training_eps": 0.5, "training": 1, "training_instancenorm": 1,
                          "training_momentum": 0.9)",
       {1, 2, 4, 4},
       {1, 2, 4, 4},
       by_channel});
}

}  // namespace
}  // namespace pippin
