// What follows convolutions in one step, and what has its numbers by channel, against the
// reference.
#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

ProgramText small_conv(const std::string& more_inputs = "") {
  ProgramText text("tensor<fp32, [1, 3, 6, 7]> x" + more_inputs);
  text.array("weight", {4, 3, 3, 3}).array("bias", {4}).array("alpha", {4}, 0.3);
  text.array("variance", {4}, 1.5).number("type", "string", "\"same\"");
  return text.op("c", "tensor<fp32, [1, 4, 6, 7]>",
                 "conv(x = x, weight = weight, bias = bias, pad_type = type)");
}

TEST(Planes, WhatFollowsIsDoneToEachPiece) {
  ProgramText text = small_conv();
  text.op("n", "tensor<fp32, [1, 4, 6, 7]>",
          "batch_norm(x = c, mean = bias, variance = variance, gamma = alpha, beta = bias)");
  text.op("p", "tensor<fp32, [1, 4, 6, 7]>", "prelu(x = n, alpha = alpha)");
  text.op("y", "tensor<fp32, [1, 4, 6, 7]>", "silu(x = p)");
  const mil::Model model = text.returns("y");
  EXPECT_NE(
      described(model).find("conv of places (conv_scalar) + mean + batch_norm + prelu + silu"),
      std::string::npos)
      << described(model);
  expect_same_values(model, {{{1, 3, 6, 7}}}, {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
}

// Channels last, in rows so wide that places go together.
TEST(Planes, WhatKeepsWithinBoundsIsDoneByKernels) {
  for (const std::string act : {"relu(x = ", "relu6(x = ", "clip(alpha = low, beta = high, x = "}) {
    for (const bool first : {true, false}) {
      SCOPED_TRACE(fmt::format("{}, {}", act, first));
      const std::string type = "tensor<fp32, [2, 16, 5, 33]>";
      ProgramText text("tensor<fp32, [2, 9, 5, 33]> x");
      text.array("w", {16, 9, 1, 1}).array("own", {16, 1, 3, 3}).array("bias", {16});
      text.number("low", "fp32", "-0.25").number("high", "fp32", "0.5");
      text.number("same", "string", "\"same\"").number("groups", "int32", "16");
      text.integers("two", {2, 2}).number("valid", "string", "\"valid\"");
      text.op("c", type, "conv(x = x, weight = w, bias = bias)").op("a", type, act + "c)");
      text.op("d", type, "conv(x = a, weight = own, pad_type = same, groups = groups)");
      if (first) {
        text.op("b", type, act + "d)").op("e", type, "add(x = b, y = a)");
      } else {
        text.op("b", type, "add(x = d, y = a)").op("e", type, act + "b)");
      }
      text.op("y", "tensor<fp32, [2, 16, 2, 16]>",
              "max_pool(x = e, kernel_sizes = two, strides = two, pad_type = valid)");
      expect_same_values(text.returns("y"), {{{2, 9, 5, 33}}},
                         {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
    }
  }
}

TEST(Planes, ResidualsOfOlderAndYoungerSteps) {
  for (const bool younger : {false, true}) {
    ProgramText text = small_conv(", tensor<fp32, [1, 4, 6, 7]> other");
    const std::string shape = "tensor<fp32, [1, 4, 6, 7]>";
    if (younger) text.op("r", shape, "exp(x = other)");
    text.op("s", shape, younger ? "add(x = r, y = c)" : "add(x = c, y = other)");
    text.op("y", shape, "relu(x = s)");
    const mil::Model model = text.returns("y");
    EXPECT_NE(described(model).find("conv of places (conv_scalar) + add + relu"), std::string::npos)
        << described(model);
    expect_same_values(model, {{{1, 3, 6, 7}, {1, 4, 6, 7}}}, {Fill::Ordinary, Fill::Zeros});
  }
}

// What somebody else reads, or a residual that repeats, stays as it is.
TEST(Planes, NearMisses) {
  const std::string shape = "tensor<fp32, [1, 4, 6, 7]>";
  ProgramText read_twice = small_conv();
  read_twice.op("r", shape, "relu(x = c)").op("y", shape, "sub(x = r, y = c)");
  const mil::Model model = read_twice.returns("y");
  EXPECT_EQ(described(model).find("+ relu"), std::string::npos);
  expect_same_values(model, {{{1, 3, 6, 7}}}, {Fill::Ordinary});
  const mil::Model returned = small_conv().op("y", shape, "relu(x = c)").returns("c, y");
  EXPECT_EQ(described(returned).find("+ relu"), std::string::npos);
  expect_same_values(returned, {{{1, 3, 6, 7}}}, {Fill::Ordinary});
  const mil::Model repeats = small_conv(", tensor<fp32, [1, 4, 1, 7]> other")
                                 .op("y", shape, "add(x = c, y = other)")
                                 .returns("y");
  EXPECT_EQ(described(repeats).find("+ add"), std::string::npos);
  expect_same_values(repeats, {{{1, 3, 6, 7}, {1, 4, 1, 7}}}, {Fill::Ordinary});
  const mil::Model twice = small_conv().op("y", shape, "add(x = c, y = c)").returns("y");
  expect_same_values(twice, {{{1, 3, 6, 7}}}, {Fill::Ordinary});
}

TEST(Planes, NormsByChannelOnTheirOwn) {
  for (const std::string call :
       {"batch_norm(x = x, mean = numbers, variance = positive, gamma = positive)",
        "batch_norm(x = x, mean = numbers, variance = positive, beta = numbers)",
        "instance_norm(x = x, gamma = positive, beta = numbers)", "instance_norm(x = x)",
        "prelu(x = x, alpha = numbers)"}) {
    SCOPED_TRACE(call);
    ProgramText text("tensor<fp32, [2, 3, 5, 9]> x");
    text.array("numbers", {3}).array("positive", {3}, 2);
    const mil::Model model = text.op("y", "tensor<fp32, [2, 3, 5, 9]>", call).returns("y");
    EXPECT_EQ(described(model).find("(reference)"), std::string::npos) << described(model);
    expect_same_values(model, {{{2, 3, 5, 9}}}, {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
  }
}

}  // namespace
}  // namespace pippin::engine
