// Operations after convolutions that become finishes, and operations with numbers by channel,
// against the reference.
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
      described(model).find("channels-last conv (conv_scalar) + mean + batch_norm + prelu + silu"),
      std::string::npos)
      << described(model);
  expect_same_values(model, {{{1, 3, 6, 7}}}, {Fill::Ordinary, Fill::Zeros, Fill::Extremes});
}

// Channels last, with rows so wide that places are computed together.
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
    EXPECT_NE(described(model).find("channels-last conv (conv_scalar) + add + relu"),
              std::string::npos)
        << described(model);
    expect_same_values(model, {{{1, 3, 6, 7}, {1, 4, 6, 7}}}, {Fill::Ordinary, Fill::Zeros});
  }
}

// The same elements under another name or in another shape, if the first value is also read.
TEST(Planes, OtherNamesOfWhatIsReadStay) {
  const std::string shape = "tensor<fp32, [1, 4, 6, 7]>", flat = "tensor<fp32, [1, 4, 42]>";
  const auto expect_kept = [](ProgramText text) {
    const mil::Model model = text.returns("y");
    EXPECT_EQ(described(model).find("+ relu"), std::string::npos) << described(model);
    expect_same_values(model, {{{1, 3, 6, 7}}}, {Fill::Ordinary});
  };
  ProgramText named = small_conv();
  named.op("a", shape, "identity(x = c)").op("r", shape, "relu(x = a)");
  expect_kept(named.op("y", shape, "sub(x = r, y = c)"));
  ProgramText shaped = small_conv();
  shaped.integers("flat", {1, 4, 42}).op("a", flat, "reshape(x = c, shape = flat)");
  shaped.op("r", flat, "relu(x = a)").integers("back", {1, 4, 6, 7});
  shaped.op("b", shape, "reshape(x = r, shape = back)");
  expect_kept(shaped.op("y", shape, "sub(x = b, y = c)"));
}

// The same operation twice is one value, and a reader of it may come before the second one.
TEST(Planes, WhatIsComputedTwiceStays) {
  const std::string shape = "tensor<fp32, [1, 4, 6, 7]>";
  ProgramText text = small_conv();
  text.op("r", shape, "relu(x = c)");
  text.op("d", shape, "conv(x = x, weight = weight, bias = bias, pad_type = type)");
  const mil::Model model = text.op("y", shape, "sub(x = r, y = d)").returns("y");
  expect_same_values(model, {{{1, 3, 6, 7}}}, {Fill::Ordinary});
}

// Formulas of activations, gates, and fusions that look back through them.
TEST(Planes, FormulasAreDoneToEachPiece) {
  const std::string shape = "tensor<fp32, [1, 4, 6, 7]>";
  using Lines = std::vector<std::pair<std::string, std::string>>;
  const auto check = [&](const Lines& lines, const std::string& name) {
    ProgramText text = small_conv(", tensor<fp32, [1, 4, 6, 7]> other");
    text.number("sixth", 1 / 6.0).number("half", 0.5).number("cap", 30);
    for (const auto& [result, call] : lines) text.op(result, shape, call);
    const mil::Model model = text.returns("y");
    const std::string steps = described(model);
    EXPECT_NE(steps.find("channels-last conv (conv_scalar)" + name + " f32"), std::string::npos)
        << steps;
    // Computed once, for all readers.
    EXPECT_EQ(steps.find("conv of"), steps.rfind("conv of")) << steps;
    // silu(-inf) is 0, which as a product would be NaN.
    std::vector<Fill> fills = {Fill::Ordinary, Fill::Zeros};
    if (steps.find("silu") == std::string::npos) fills.push_back(Fill::Extremes);
    expect_same_values(model, {{{1, 3, 6, 7}, {1, 4, 6, 7}}}, fills);
  };
  const Lines hard = {{"s", "sigmoid_hard(x = c, alpha = sixth, beta = half)"},
                      {"h", "mul(x = c, y = s)"}};
  const auto after = [](Lines lines, const Lines& more) {
    lines.insert(lines.end(), more.begin(), more.end());
    return lines;
  };
  check(after(hard, {{"y", "add(x = h, y = other)"}}), " + hard_swish + add");
  check(after(hard, {{"y", "add(x = h, y = s)"}}), "");
  check(after(hard, {{"y", "add(x = h, y = c)"}}), "");
  check({{"s", "sigmoid(x = c)"}, {"y", "mul(x = c, y = s)"}}, " + silu");
  check({{"t", "tanh(x = c)"}, {"y", "mul(x = t, y = cap)"}}, " + scaled_tanh");
  check({{"s", "sigmoid(x = c)"}, {"y", "mul(x = s, y = other)"}}, "");
  check({{"s", "silu(x = c)"}, {"y", "mul(x = s, y = other)"}}, "");
  check({{"s", "silu(x = c)"}, {"m", "mul(x = s, y = other)"}, {"y", "add(x = m, y = s)"}},
        " + silu");
  check({{"a", "identity(x = c)"}, {"y", "add(x = c, y = a)"}}, "");
}

// Values with other readers, or a residual that is broadcast, stay as they are.
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
