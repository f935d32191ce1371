#include <array>

#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

// With x [1, q, 8] and the constants used below.
ProgramText norm_program(const std::string& type = "fp32") {
  ProgramText program(fmt::format("tensor<{}, [1, ?, 8]> x", type));
  program.number("two", type, "0x1p+1").number("eps", type, "0x1p-17");
  program.number("half", type, "0x1p-1").number("minus_half", type, "-0x1p-1");
  program.number("minus", type, "-0x1p+0").number("one", type, "0x1p+0");
  program.number("eighth", type, "0x1p-3").number("eight", type, "0x1p+3");
  program.number("tiny", type, "0x1p-40").number("none", type, "0x0p+0");
  program.number("axis", "int32", "-1").integers("axes", {-1});
  program.array("g", {8}, 1, type);
  return program;
}
ProgramText& op(ProgramText& program, const std::string& name, const std::string& last,
                const std::string& call, const std::string& type = "fp32") {
  return program.op(name, fmt::format("tensor<{}, [1, ?, {}]>", type, last), call);
}
ProgramText& mean(ProgramText& program, const std::string& of = "x",
                  const std::string& type = "fp32") {
  op(program, "sq", "8", fmt::format("pow(x = {}, y = two)", of), type);
  op(program, "m", "1", "reduce_mean(x = sq, axes = axes, keep_dims = yes)", type);
  return op(program, "e", "1", "add(x = m, y = eps)", type);
}

constexpr const char* kNorm = "rms_norm f32[x[1], 8] <- f32[x[1], 8]\n";
constexpr const char* kNormWithGamma = "rms_norm f32[x[1], 8] <- f32[x[1], 8], f32[8]\n";
const std::vector<std::vector<std::vector<int64_t>>> kCalls = {{{1, 1, 8}}, {{1, 37, 8}}};

void expect_norm(const ProgramText& program, const std::string& steps) {
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model), steps);
  EXPECT_NE(described(model, /*fusion=*/false), steps);
  expect_same_values(model, kCalls);
}

TEST(FuseNorm, AsHuggingFaceIsConverted) {
  ProgramText program = norm_program();
  mean(program);
  op(program, "r", "1", "rsqrt(x = e, epsilon = tiny)");
  op(program, "n", "8", "mul(x = x, y = r)");
  op(program, "y", "8", "mul(x = g, y = n)");
  expect_norm(program, kNormWithGamma);
}

TEST(FuseNorm, WithoutGamma) {
  ProgramText program = norm_program();
  mean(program);
  op(program, "r", "1", "rsqrt(x = e, epsilon = tiny)");
  op(program, "y", "8", "mul(x = r, y = x)");
  expect_norm(program, kNorm);
}

TEST(FuseNorm, InEveryOrderOfProducts) {
  for (const char* order : {"x r g", "x g r", "r x g", "r g x", "g x r", "g r x"}) {
    const std::string a(1, order[0]), b(1, order[2]), c(1, order[4]);
    ProgramText program = norm_program();
    mean(program);
    op(program, "r", "1", "rsqrt(x = e, epsilon = tiny)");
    op(program, "n", "8", fmt::format("mul(x = {}, y = {})", a, b));
    op(program, "y", "8", fmt::format("mul(x = {}, y = n)", c));
    SCOPED_TRACE(order);
    expect_norm(program, kNormWithGamma);
  }
}

TEST(FuseNorm, WithEveryRoot) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> endings = {
      {{"s", "sqrt(x = e)"}, {"y", "real_div(x = x, y = s)"}},
      {{"s", "pow(x = e, y = half)"}, {"y", "real_div(x = x, y = s)"}},
      {{"s", "pow(x = e, y = minus_half)"}, {"y", "mul(x = x, y = s)"}},
      {{"t", "sqrt(x = e)"}, {"s", "inverse(x = t, epsilon = none)"}, {"y", "mul(x = s, y = x)"}},
      {{"t", "sqrt(x = e)"}, {"s", "real_div(x = one, y = t)"}, {"y", "mul(x = s, y = x)"}},
  };
  for (const auto& ending : endings) {
    ProgramText program = norm_program();
    mean(program);
    for (const auto& [name, call] : ending) op(program, name, name == "y" ? "8" : "1", call);
    SCOPED_TRACE(ending.front().second);
    expect_norm(program, kNorm);
  }
}

TEST(FuseNorm, WithEveryMeanOfSquares) {
  const std::vector<std::pair<std::string, std::string>> squares = {
      {"square(x = x)", "reduce_mean(x = sq, axes = axes, keep_dims = yes)"},
      {"mul(x = x, y = x)", "reduce_mean(x = sq, axes = axes, keep_dims = yes)"},
  };
  for (const auto& [square, sum] : squares) {
    ProgramText program = norm_program();
    op(program, "sq", "8", square);
    op(program, "m", "1", sum);
    op(program, "e", "1", "add(x = eps, y = m)");
    op(program, "r", "1", "rsqrt(x = e, epsilon = tiny)");
    op(program, "y", "8", "mul(x = x, y = r)");
    SCOPED_TRACE(square);
    expect_norm(program, kNorm);
  }
  for (const char* scaled : {"mul(x = s, y = eighth)", "real_div(x = s, y = eight)"}) {
    ProgramText program = norm_program();
    op(program, "s", "1", "reduce_sum_square(x = x, axes = axes, keep_dims = yes)");
    op(program, "m", "1", scaled);
    op(program, "r", "1", "rsqrt(x = m, epsilon = eps)");
    op(program, "y", "8", "mul(x = x, y = r)");
    SCOPED_TRACE(scaled);
    expect_norm(program, kNorm);
  }
}

TEST(FuseNorm, WithoutTheMeanItIsAnL2Norm) {
  ProgramText program = norm_program();
  op(program, "sq", "8", "pow(x = x, y = two)");
  op(program, "s", "1", "reduce_sum(x = sq, axes = axes, keep_dims = yes)");
  op(program, "e", "1", "add(x = s, y = eps)");
  op(program, "r", "1", "rsqrt(x = e, epsilon = tiny)");
  op(program, "y", "8", "mul(x = x, y = r)");
  expect_norm(program, kNormWithGamma);  // 1 / sqrt(8)
}

TEST(FuseNorm, OfTheOperationL2Norm) {
  ProgramText program("tensor<fp32, [?, 8, 1, 1]> x");
  program.number("eps", "fp32", "0x1p-17").number("root", "fp32", "0x1.6a09e6p+1");
  program.array("g", {8, 1, 1}, 1);
  program.op("n", "tensor<fp32, [?, 8, 1, 1]>", "l2_norm(x = x, epsilon = eps)");
  program.op("m", "tensor<fp32, [?, 8, 1, 1]>", "mul(x = n, y = root)");
  program.op("y", "tensor<fp32, [?, 8, 1, 1]>", "mul(x = m, y = g)");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model), "rms_norm f32[x[0], 8] <- f32[x[0], 8], f32[8]\n");
  expect_same_values(model, {{{1, 8, 1, 1}}, {{5, 8, 1, 1}}});
}

// fp16 that is normalized in fp32, with a mean whose axis is removed and restored.
TEST(FuseNorm, ThroughCastsAndShapes) {
  ProgramText program = norm_program("fp16");
  program.number("to_fp32", "string", "\"fp32\"").number("to_fp16", "string", "\"fp16\"");
  program.number("two32", 2).number("eps32", 1e-5);
  op(program, "wide", "8", "cast(x = x, dtype = to_fp32)");
  op(program, "sq", "8", "pow(x = wide, y = two32)");
  program.op("m", "tensor<fp32, [1, ?]>", "reduce_mean(x = sq, axes = axes, keep_dims = no)");
  op(program, "m3", "1", "expand_dims(x = m, axes = axes)");
  op(program, "e", "1", "add(x = m3, y = eps32)");
  program.number("tiny32", 1e-12);
  op(program, "r", "1", "rsqrt(x = e, epsilon = tiny32)");
  op(program, "n", "8", "mul(x = wide, y = r)");
  op(program, "narrow", "8", "cast(x = n, dtype = to_fp16)", "fp16");
  op(program, "y", "8", "mul(x = g, y = narrow)", "fp16");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model), kNormWithGamma);
  expect_same_values(model, kCalls, {Fill::Ordinary, Fill::Zeros}, 2e-3);
}

// (1, features, 1, q), where rows are strided in memory.
TEST(FuseNorm, OfChannels) {
  const std::string type = "tensor<fp32, [1, 8, 1, ?]>", row = "tensor<fp32, [1, 1, 1, ?]>";
  ProgramText program(type + " x");
  program.number("eps", 1e-5).number("tiny", 1e-12).integers("axes", {1});
  program.array("g", {1, 8, 1, 1}, 1);
  program.op("sq", type, "mul(x = x, y = x)");
  program.op("m", row, "reduce_mean(x = sq, axes = axes, keep_dims = yes)");
  program.op("e", row, "add(x = m, y = eps)").op("r", row, "rsqrt(x = e, epsilon = tiny)");
  program.op("n", type, "mul(x = x, y = r)").op("y", type, "mul(x = n, y = g)");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model),
            "copy f32[1, 1, x[3], 8] <- f32[1, 1, x[3], 8]\n"
            "rms_norm f32[x[3], 8] <- f32[x[3], 8], f32[8]\n"
            "copy f32[1, 1, 8, x[3]] <- f32[1, 1, 8, x[3]]\n");
  expect_same_values(model, {{{1, 8, 1, 1}}, {{1, 8, 1, 37}}});
}

TEST(FuseNorm, OfALayerNormOverXAndMinusX) {
  for (const char* half : {"slice_by_index(x = ln, begin = begin, end = end, end_mask = mask)",
                           "slice_by_size(x = ln, begin = begin, size = size)"}) {
    ProgramText program = norm_program();
    program.integers("begin", {0, 0, 0}).integers("end", {0, 0, 8}).integers("size", {1, -1, 8});
    program.number("mask", "tensor<bool, [3]>", "[true, true, false]");
    op(program, "neg", "8", "mul(x = x, y = minus)");
    op(program, "both", "16", "concat(values = (x, neg), axis = axis, interleave = no)");
    op(program, "ln", "16", "layer_norm(x = both, axes = axes, epsilon = eps)");
    op(program, "n", "8", half);
    op(program, "y", "8", "mul(x = n, y = g)");
    SCOPED_TRACE(half);
    const mil::Model model = program.returns("y");
    EXPECT_EQ(described(model), kNormWithGamma);
    expect_same_values(model, kCalls, {Fill::Ordinary, Fill::Zeros});
    const mil::Model without = program.returns("n");
    EXPECT_EQ(described(without), kNorm);
  }
}

// A norm of a norm: both are found.
TEST(FuseNorm, OfANorm) {
  ProgramText program = norm_program();
  mean(program);
  op(program, "r", "1", "rsqrt(x = e, epsilon = tiny)");
  op(program, "n", "8", "mul(x = x, y = r)");
  op(program, "z", "8", "mul(x = n, y = g)");
  op(program, "sq2", "8", "square(x = z)");
  op(program, "m2", "1", "reduce_mean(x = sq2, axes = axes, keep_dims = yes)");
  op(program, "e2", "1", "add(x = m2, y = eps)");
  op(program, "r2", "1", "rsqrt(x = e2, epsilon = tiny)");
  op(program, "n2", "8", "mul(x = z, y = r2)");
  op(program, "y", "8", "mul(x = g, y = n2)");
  expect_norm(program, std::string(kNormWithGamma) + kNormWithGamma);
}

// Another operation reads a value in the middle: it stays, in addition to the norm.
TEST(FuseNorm, KeepsWhatElseIsRead) {
  ProgramText program = norm_program();
  mean(program);
  op(program, "r", "1", "rsqrt(x = e, epsilon = tiny)");
  op(program, "y", "8", "mul(x = x, y = r)");
  const mil::Model model = program.returns("y, e");
  EXPECT_EQ(described(model),
            "pow f32[1, x[1], 8] <- f32[1, x[1], 8], f32[1, x[1], 8]\n"
            "reduce_mean f32[x[1], 1] <- f32[x[1], 8]\n"
            "add f32[1, 1, x[1]] <- f32[1, 1, x[1]], f32[1, 1, x[1]]\n" +
                std::string(kNorm));
  expect_same_values(model, kCalls);
}

struct NearMiss {
  std::string what;
  std::vector<std::array<std::string, 3>> lines;  // name, last dimension, call
};

TEST(FuseNorm, LeavesWhatIsNone) {
  const std::array<std::string, 3> square = {"sq", "8", "pow(x = x, y = two)"},
                                   mean_of = {"m", "1",
                                              "reduce_mean(x = sq, axes = axes, keep_dims = yes)"},
                                   plus = {"e", "1", "add(x = m, y = eps)"},
                                   root = {"r", "1", "rsqrt(x = e, epsilon = tiny)"},
                                   product = {"y", "8", "mul(x = x, y = r)"};
  const std::vector<NearMiss> misses = {
      {"epsilon outside of the root",
       {square,
        mean_of,
        {"s", "1", "sqrt(x = m)"},
        {"t", "1", "add(x = s, y = eps)"},
        {"y", "8", "real_div(x = x, y = t)"}}},
      {"another axis",
       {square,
        {"m", "8", "reduce_mean(x = sq, axes = rows, keep_dims = yes)"},
        {"e", "8", "add(x = m, y = eps)"},
        {"r", "8", "rsqrt(x = e, epsilon = tiny)"},
        product}},
      {"another value",
       {square, mean_of, plus, root, {"z", "8", "exp(x = x)"}, {"y", "8", "mul(x = z, y = r)"}}},
      {"a cube", {{"sq", "8", "pow(x = x, y = eight)"}, mean_of, plus, root, product}},
      {"a mean of x",
       {{"m", "1", "reduce_mean(x = x, axes = axes, keep_dims = yes)"}, plus, root, product}},
      {"a difference of the mean",
       {square, mean_of, {"e", "1", "sub(x = eps, y = m)"}, root, product}},
      {"x twice",
       {square,
        mean_of,
        plus,
        root,
        {"z", "8", "mul(x = x, y = r)"},
        {"y", "8", "mul(x = z, y = x)"}}},
  };
  for (const NearMiss& miss : misses) {
    ProgramText program = norm_program();
    program.integers("rows", {1});
    for (const auto& [name, last, call] : miss.lines) {
      const bool over_rows = miss.what == "another axis" && name != "sq" && name != "y";
      program.op(name, fmt::format("tensor<fp32, [1, {}, {}]>", over_rows ? "1" : "?", last), call);
    }
    SCOPED_TRACE(miss.what);
    const mil::Model model = program.returns("y");
    const std::string steps = described(model);
    if (miss.what == "x twice") {  // a norm, and then a product
      EXPECT_NE(steps.find("mul"), std::string::npos) << steps;
    } else if (miss.what == "another axis") {  // along q, the rows: its size is not a number
      EXPECT_EQ(steps, described(model, /*fusion=*/false));
    } else {
      EXPECT_EQ(steps, described(model, /*fusion=*/false));
    }
    expect_same_values(model, kCalls, {Fill::Ordinary});
  }
}

// A gamma for each row is not part of the norm: it is multiplied afterwards.
TEST(FuseNorm, LeavesAGammaOfHeads) {
  const std::string type = "tensor<fp32, [2, 3, 8]>", row = "tensor<fp32, [2, 3, 1]>";
  ProgramText program(type + " x");
  program.number("eps", 1e-5).number("tiny", 1e-12).integers("axes", {2}).array("g", {3, 8}, 1);
  program.op("sq", type, "square(x = x)");
  program.op("m", row, "reduce_mean(x = sq, axes = axes, keep_dims = yes)");
  program.op("e", row, "add(x = m, y = eps)").op("r", row, "rsqrt(x = e, epsilon = tiny)");
  program.op("n", type, "mul(x = x, y = r)").op("y", type, "mul(x = n, y = g)");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model),
            "rms_norm f32[6, 8] <- f32[6, 8]\n"
            "mul f32[2, 3, 8] <- f32[2, 3, 8], f32[2, 3, 8]\n");
  expect_same_values(model, {{{2, 3, 8}}});
}

// A mean that is broadcast along another axis than its own.
TEST(FuseNorm, LeavesAMeanThatMeetsOtherRows) {
  const std::string type = "tensor<fp32, [8, 8]>", row = "tensor<fp32, [8]>";
  ProgramText program(type + " x");
  program.number("eps", 1e-5).number("tiny", 1e-12).integers("axes", {1});
  program.op("sq", type, "square(x = x)");
  program.op("m", row, "reduce_mean(x = sq, axes = axes, keep_dims = no)");
  program.op("e", row, "add(x = m, y = eps)").op("r", row, "rsqrt(x = e, epsilon = tiny)");
  program.op("y", type, "mul(x = x, y = r)");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model), described(model, /*fusion=*/false));
  expect_same_values(model, {{{8, 8}}});
}

}  // namespace
}  // namespace pippin::engine
