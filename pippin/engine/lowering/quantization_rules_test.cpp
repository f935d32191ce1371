// Activations to 8-bit quantized values and back, against the reference.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

// `scale` and `zero` are the text of types and values; `zero` "": no zero point.
void expect_planned(const std::vector<int64_t>& shape, const std::string& dtype,
                    const std::pair<std::string, std::string>& scale,
                    const std::pair<std::string, std::string>& zero, int64_t axis) {
  SCOPED_TRACE(fmt::format("{} of {}, scale {}, zero {}", dtype, shape, scale.second, zero.second));
  const std::string dims = fmt::format("{}", fmt::join(shape, ", "));
  ProgramText text("tensor<fp32, [" + dims + "]> x");
  text.number("scale", scale.first, scale.second).number("dtype", "string", "\"" + dtype + "\"");
  text.number("axis", "int32", std::to_string(axis));
  std::string more = "scale = scale, axis = axis";
  if (!zero.first.empty()) {
    text.number("zero", zero.first, zero.second);
    more += ", zero_point = zero";
  }
  text.op("codes", "tensor<" + dtype + ", [" + dims + "]>",
          "quantize(input = x, output_dtype = dtype, " + more + ")");
  text.op("y", "tensor<fp32, [" + dims + "]>", "dequantize(input = codes, " + more + ")");
  const mil::Model model = text.returns("y");
  EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
  expect_same_values(model, {{shape}}, {Fill::Ordinary, Fill::Large, Fill::Zeros, Fill::Extremes},
                     1e-6);
}

TEST(QuantizationRules, CodesAndBack) {
  const std::pair<std::string, std::string> one = {"fp32", "0x1.99999ap-4"}, none;
  expect_planned({2, 3, 5}, "int8", one, none, 0);
  expect_planned({2, 3, 5}, "uint8", one, {"uint8", "100"}, 0);
  expect_planned({7}, "int8", {"fp32", "0x1p-6"}, {"int8", "-5"}, 0);
  // Large enough that threads share them.
  expect_planned({3, 77, 101}, "int8", one, {"int8", "3"}, 0);
  const std::pair<std::string, std::string> three = {"tensor<fp32, [3]>",
                                                     "[0x1p-5, 0x1p-9, 0x1p+3]"};
  expect_planned({2, 3, 5}, "int8", three, none, 1);
  expect_planned({2, 3, 5}, "int8", three, {"tensor<int8, [3]>", "[0, -128, 127]"}, -2);
  expect_planned({3, 4}, "uint8", three, {"tensor<uint8, [3]>", "[0, 255, 9]"}, 0);
}

}  // namespace
}  // namespace pippin::engine
