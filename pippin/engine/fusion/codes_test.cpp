// Convolutions of quantized values with 8-bit weights, in integers, against the reference and the
// same plan without fusions.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

using Sizes = std::vector<int64_t>;

std::string type_of(const std::string& dtype, const Sizes& shape) {
  return fmt::format("tensor<{}, [{}]>", dtype, fmt::join(shape, ", "));
}

// Nested lists of such codes.
std::string codes_of(const Sizes& shape, size_t axis, int lowest, int64_t& next) {
  if (axis == shape.size()) {
    const int64_t i = next++;
    return std::to_string(i % 7 == 0 ? lowest : i % 5 == 0 ? lowest + 255 : i * 97 % 256 + lowest);
  }
  std::string text = "[";
  for (int64_t i = 0; i < shape[axis]; ++i) {
    text += (i > 0 ? ", " : "") + codes_of(shape, axis + 1, lowest, next);
  }
  return text + "]";
}

struct Case {
  Sizes x, weight, y;
  Sizes strides = {1, 1}, pad = {0, 0, 0, 0};
  std::string codes = "int8", zero = {};  // of x
  std::string weight_codes = "int8";
  bool offsets = false, bias = true;
  int64_t groups = 1;
  std::string scale_back = "0x1.99999ap-5";
};

// y = relu(conv(dequantize(quantize(x)))).
mil::Model model_of(const Case& item) {
  ProgramText text(type_of("fp32", item.x) + " x");
  text.number("scale", "fp32", "0x1.99999ap-5").number("scale_back", "fp32", item.scale_back);
  text.number("dtype", "string", "\"" + item.codes + "\"");
  std::string zero;
  if (!item.zero.empty()) {
    text.number("zero", item.codes, item.zero);
    zero = ", zero_point = zero";
  }
  int64_t next = 0;
  const int lowest = item.weight_codes == "int8" ? -128 : 0;
  Sizes rows(item.weight.size(), 1);
  rows[0] = item.weight[0];
  text.number("w_codes", type_of(item.weight_codes, item.weight),
              codes_of(item.weight, 0, lowest, next));
  text.array("w_scales", rows, 1);
  if (item.offsets) {
    text.number("w_offsets", type_of(item.weight_codes, rows), codes_of(rows, 0, lowest, next));
  }
  text.op("w", type_of("fp32", item.weight),
          std::string("constexpr_blockwise_shift_scale(data = w_codes, scale = w_scales") +
              (item.offsets ? ", offset = w_offsets)" : ")"));
  text.array("bias", {item.weight[0]}).integers("strides", item.strides);
  text.integers("pad", item.pad).number("custom", "string", "\"custom\"");
  text.number("groups", "int32", std::to_string(item.groups));
  text.op("codes", type_of(item.codes, item.x),
          "quantize(input = x, scale = scale, output_dtype = dtype" + zero + ")");
  text.op("rounded", type_of("fp32", item.x),
          "dequantize(input = codes, scale = scale_back" + zero + ")");
  text.op("sums", type_of("fp32", item.y),
          std::string("conv(x = rounded, weight = w, strides = strides, pad = pad, pad_type = "
                      "custom, groups = groups") +
              (item.bias ? ", bias = bias)" : ")"));
  return text.op("y", type_of("fp32", item.y), "relu(x = sums)").returns("y");
}

void expect_same(const Case& item) {
  expect_same_values(model_of(item), {{item.x}});
  expect_same_values(model_of(item), {{item.x}}, {Fill::Ordinary, Fill::Extremes}, 2e-5,
                     Precision::Fast);
}

TEST(CodeConvolution, IsOfIntegers) {
  const Case item{{1, 6, 9, 11}, {5, 6, 3, 3}, {1, 5, 9, 11}, {1, 1}, {1, 1, 1, 1}};
  EXPECT_EQ(described(model_of(item)).find("(reference)"), std::string::npos);
  EXPECT_NE(described(model_of(item)).find("quantized conv (conv_scalar) + relu"),
            std::string::npos);
  EXPECT_EQ(described(model_of(item)).find("quantize + dequantize"), std::string::npos);
  EXPECT_EQ(described(model_of(item), false).find("quantized conv"), std::string::npos);
}

TEST(CodeConvolution, AgreesWithTheReference) {
  for (const Case& item : std::vector<Case>{
           {{1, 6, 9, 11}, {5, 6, 3, 3}, {1, 5, 9, 11}, {1, 1}, {1, 1, 1, 1}},
           // Odd channels, strides, zero points at either end, batches.
           {{2, 3, 9, 11}, {9, 3, 3, 3}, {2, 9, 5, 6}, {2, 2}, {1, 1, 1, 1}, "uint8", "17"},
           {{1, 1, 9, 8}, {9, 1, 5, 2}, {1, 9, 5, 7}, {1, 1}, {0, 0, 0, 0}, "uint8", "255"},
           {{1, 2, 5, 40}, {4, 2, 1, 3}, {1, 4, 5, 40}, {1, 1}, {0, 0, 1, 1}, "int8", "-128"},
           // One element at every place; more channels than a piece.
           {{1, 16, 7, 7}, {40, 16, 1, 1}, {1, 40, 7, 7}},
           {{1, 301, 6, 7}, {9, 301, 1, 1}, {1, 9, 6, 7}, {1, 1}, {0, 0, 0, 0}, "int8", "3"},
           {{1, 65, 4, 9}, {7, 65, 3, 3}, {1, 7, 4, 9}, {1, 1}, {1, 1, 1, 1}, "uint8", "0"},
           // Weights with offsets, and without signs.
           {.x = {1, 6, 7, 7}, .weight = {5, 6, 2, 2}, .y = {1, 5, 6, 6}, .offsets = true},
           {.x = {1, 6, 7, 7},
           .weight = {5, 6, 2, 2},
           .y = {1, 5, 6, 6},
           .weight_codes = "uint8",
           .offsets = true,
           .bias = false},
           {{1, 4, 7, 7}, {5, 4, 2, 2}, {1, 5, 6, 6}, {1, 1}, {0, 0, 0, 0}, "uint8", "9", "uint8"},
           // A kernel larger than its input.
           {{1, 2, 2, 1}, {2, 2, 3, 3}, {1, 2, 3, 2}, {1, 1}, {2, 1, 1, 2}}}) {
    SCOPED_TRACE(
        fmt::format("{} by {}, {} of zero {}", item.x, item.weight, item.codes, item.zero));
    EXPECT_NE(described(model_of(item)).find("quantized conv"), std::string::npos);
    expect_same(item);
  }
}

TEST(CodeConvolution, NearMisses) {
  const auto computed = [](const Case& item) {
    expect_same(item);
    return described(model_of(item)).find("quantized conv") != std::string::npos;
  };
  // Groups, depthwise convolutions, few places.
  EXPECT_FALSE(
      computed({.x = {1, 6, 9, 9}, .weight = {4, 3, 3, 3}, .y = {1, 4, 7, 7}, .groups = 2}));
  EXPECT_FALSE(
      computed({.x = {1, 4, 9, 9}, .weight = {4, 1, 3, 3}, .y = {1, 4, 7, 7}, .groups = 4}));
  EXPECT_FALSE(computed({{1, 6, 2, 2}, {4, 6, 1, 1}, {1, 4, 2, 2}}));
  // Quantized values with other parameters.
  EXPECT_FALSE(computed(
      {.x = {1, 6, 9, 9}, .weight = {4, 6, 3, 3}, .y = {1, 4, 7, 7}, .scale_back = "0x1p-5"}));
}

// Several convolutions of the same quantized values, and another reader of the dequantized ones.
TEST(CodeConvolution, SharesThePairs) {
  ProgramText text("tensor<fp32, [1, 4, 8, 8]> x");
  text.number("scale", 0.125).number("dtype", "string", "\"int8\"");
  int64_t next = 0;
  for (const std::string name : {"a", "b"}) {
    text.number(name + "_codes", "tensor<int8, [4, 4, 1, 1]>",
                codes_of({4, 4, 1, 1}, 0, -128, next));
    text.array(name + "_scales", {4, 1, 1, 1}, 1);
    text.op(
        name + "_w", "tensor<fp32, [4, 4, 1, 1]>",
        fmt::format("constexpr_blockwise_shift_scale(data = {0}_codes, scale = {0}_scales)", name));
  }
  text.op("codes", "tensor<int8, [1, 4, 8, 8]>",
          "quantize(input = x, scale = scale, output_dtype = dtype)");
  text.op("rounded", "tensor<fp32, [1, 4, 8, 8]>", "dequantize(input = codes, scale = scale)");
  text.op("a", "tensor<fp32, [1, 4, 8, 8]>", "conv(x = rounded, weight = a_w)");
  text.op("b", "tensor<fp32, [1, 4, 8, 8]>", "conv(x = rounded, weight = b_w)");
  text.op("c", "tensor<fp32, [1, 4, 8, 8]>", "mul(x = a, y = rounded)");
  text.op("y", "tensor<fp32, [1, 4, 8, 8]>", "sub(x = b, y = c)");
  const mil::Model model = text.returns("y");
  const std::string plan = described(model);
  const auto count = [&](const std::string& name) {
    size_t found = 0;
    for (size_t at = plan.find(name); at != std::string::npos; at = plan.find(name, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("quantized pairs"), 1) << plan;
  EXPECT_EQ(count("quantized conv"), 2) << plan;
  EXPECT_EQ(count("quantize + dequantize"), 1) << plan;
  expect_same_values(model, {{{1, 4, 8, 8}}});
}

}  // namespace
}  // namespace pippin::engine
