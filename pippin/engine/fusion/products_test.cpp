// Products that become one step, and residuals that they add: bit for bit the results of separate
// steps.
#include <algorithm>
#include <cstring>

#include "pippin/engine/fusion/fusion_testing.h"
#include "pippin/engine/fusion/products_testing.h"

namespace pippin::engine {
namespace {

// Fused and unfused plans in both precisions, on every instruction set, with one thread and more.
void expect_same_bits(const mil::Model& model, const std::vector<std::vector<int64_t>>& shapes) {
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
      PlanOptions options;
      options.compute.precision = precision;
      options.compute.cpu = cpu;
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(fmt::format("{}, {} threads", level, threads));
        ThreadPool pool(threads);
        options.compute.fusion = true;
        Execution fused(Plan::make(model, "main", options), pool);
        options.compute.fusion = false;
        Execution plain(Plan::make(model, "main", options), pool);
        State state({});
        std::mt19937 random(3);
        std::normal_distribution<float> normal;
        fused.bind(shapes, state);
        plain.bind(shapes, state);
        for (size_t i = 0; i < shapes.size(); ++i) {
          for (size_t k = 0; k < fused.float_input(i).size(); ++k) {
            fused.float_input(i)[k] = plain.float_input(i)[k] = normal(random);
          }
        }
        fused.run();
        plain.run();
        for (size_t i = 0; i < fused.plan().outputs().size(); ++i) {
          const auto a = fused.float_output(i), b = plain.float_output(i);
          ASSERT_EQ(a.size(), b.size());
          ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0)
              << fused.plan().outputs()[i].name << "\n"
              << fused.plan().describe();
        }
      }
    }
  }
}

mil::Model siblings(Form form, int64_t first = 96, int64_t second = 40, int64_t third = 32) {
  const std::string bias = fmt::format("bias = {}", values(element(form), {second}, -999, 999, 9));
  return make_model(fmt::format("func main<ios18>(tensor<{}, [?, 64]> x) {{\n", element(form)) +
                    weight(form, "wq", first, 1) + weight(form, "wk", second, 2) +
                    weight(form, "wv", third, 3) +
                    linear(form, "q", first, "linear(x = x, weight = wq)") +
                    linear(form, "k", second, "linear(x = x, weight = wk, " + bias + ")") +
                    linear(form, "v", third, "linear(x = x, weight = wv)") + "} -> (q, k, v);");
}

TEST(MergeProducts, OfTheSameInput) {
  EXPECT_EQ(described(siblings(Form::Fp32)),
            "3 linear (dot_f32_scalar) f32[x[0], 96], f32[x[0], 40], f32[x[0], 32] <- f32[x[0], "
            "64], f32[96, 64], f32[40, 64], f32[40], f32[32, 64]\n");
  EXPECT_EQ(
      described(siblings(Form::Int4)),
      "3 linear int4 (quantized_dot_scalar, exact) f32[x[0], 96], f32[x[0], 40], f32[x[0], 32] <- "
      "f32[x[0], 64], f32[40]\n");
}

TEST(MergeProducts, KeepsEveryBit) {
  for (const Form form : {Form::Fp32, Form::Fp16, Form::Int4, Form::Palette}) {
    SCOPED_TRACE(static_cast<int>(form));
    const mil::Model model = siblings(form);
    for (const int64_t rows : {1, 2, 9, 37}) expect_same_bits(model, {{rows, 64}});
  }
  // Large enough that threads share them.
  expect_same_bits(siblings(Form::Int4, 4096, 1000, 4096), {{1, 64}});
  expect_same_bits(siblings(Form::Fp16, 4096, 1000, 4096), {{2, 64}});
}

// Each result is used before the next group is computed, so that its memory is free again.
TEST(MergeProducts, AtMostEight) {
  std::string text = "func main<ios18>(tensor<fp32, [100, 64]> x) {\n";
  std::string results;
  for (uint32_t i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    text += weight(Form::Fp32, "w" + number, 32, i);
    text += fmt::format(
        "tensor<fp32, [100, 32]> l{0} = linear(x = x, weight = w{0})[name = string(\"l{0}\")];\n"
        "tensor<fp32, [1, 32]> y{0} = reduce_max(x = l{0}, axes = tensor<int32, [1]>([0]), "
        "keep_dims = bool(true))[name = "
        "string(\"y{0}\")];\n",
        i);
    results += (i == 0 ? "y" : ", y") + number;
  }
  const mil::Model model = make_model(text + "} -> (" + results + ");");
  const std::string steps = described(model);
  const auto count = [&](std::string_view part) {
    size_t found = 0;
    for (size_t at = steps.find(part); at != std::string::npos; at = steps.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("8 linear"), 2U) << steps;
  EXPECT_EQ(count("4 linear"), 1U) << steps;
  expect_same_bits(model, {{100, 64}});
  ThreadPool pool(1);
  const auto plan = Plan::make(model, "main");
  EXPECT_LT(plan->arena_bytes(), 2U * 8 * 100 * 32 * 4 + 100 * 64 * 4 + 20 * 32 * 4);
}

TEST(MergeProducts, OfPointwiseConvolutions) {
  for (const Form form : {Form::Fp16, Form::Int4}) {
    const std::string type =
        "tensor<fp16, [1, {}, 1, ?]> {} = conv(x = x, weight = {})[name = "
        "string(\"{}\")];\n";
    const mil::Model model = make_model(
        "func main<ios18>(tensor<fp16, [1, 64, 1, ?]> x) {\n" + weight(form, "wg", 96, 1, true) +
        weight(form, "wu", 96, 2, true) + fmt::format(fmt::runtime(type), 96, "g", "wg", "g") +
        fmt::format(fmt::runtime(type), 96, "u", "wu", "u") +
        "tensor<fp16, [1, 96, 1, ?]> y = mul(x = g, y = u)[name = string(\"y\")];\n} -> (y);");
    const std::string steps = described(model);
    EXPECT_NE(steps.find("2 conv"), std::string::npos) << steps;
    for (const int64_t places : {1, 5, 33}) expect_same_bits(model, {{1, 64, 1, places}});
  }
}

TEST(MergeProducts, LeavesWhatDiffers) {
  // Another input, another kind of weight, a bias that is computed later.
  const auto model_of = [](const std::string& lines) {
    return make_model(
        "func main<ios18>(tensor<fp16, [?, 64]> x, tensor<fp16, [?, 64]> z, "
        "tensor<fp16, [32]> late) {\n" +
        weight(Form::Fp16, "a", 32, 1) + weight(Form::Fp16, "b", 32, 2) +
        weight(Form::Int4, "c", 32, 3) + lines + "} -> (p, q);");
  };
  const std::string p = linear(Form::Fp16, "p", 32, "linear(x = x, weight = a)");
  for (const std::string& other :
       {linear(Form::Fp16, "q", 32, "linear(x = z, weight = b)"),
        linear(Form::Fp16, "q", 32, "linear(x = x, weight = c)"),
        "tensor<fp16, [32]> twice = add(x = late, y = late)[name = string(\"twice\")];\n" +
            linear(Form::Fp16, "q", 32, "linear(x = x, weight = b, bias = twice)")}) {
    const mil::Model model = model_of(p + other);
    EXPECT_EQ(described(model), described(model, /*fusion=*/false)) << other;
    expect_same_bits(model, {{3, 64}, {3, 64}, {32}});
  }
}

// r, 40 of the columns of x: rows with a stride, and as many as x has.
std::string columns(Form form, const std::string& x, const std::string& name) {
  return linear(form, name, 40,
                "slice_by_index(x = " + x +
                    ", begin = tensor<int32, [2]>([0, 7]), end = tensor<int32, [2]>([0, 47]), "
                    "begin_mask = tensor<bool, [2]>([true, false]), end_mask = tensor<bool, "
                    "[2]>([true, false]))");
}

mil::Model with_residual(Form form, const std::string& sum, const std::string& outputs = "y") {
  return make_model(fmt::format("func main<ios18>(tensor<{}, [?, 64]> x) {{\n", element(form)) +
                    columns(form, "x", "r") + weight(form, "w", 40, 1) +
                    linear(form, "p", 40, "linear(x = x, weight = w)") +
                    linear(form, "y", 40, sum) + "} -> (" + outputs + ");");
}

TEST(FuseResidual, OfALinearLayer) {
  for (const char* sum : {"add(x = p, y = r)", "add(x = r, y = p)"}) {
    EXPECT_EQ(
        described(with_residual(Form::Int4, sum)),
        "linear int4 (quantized_dot_scalar, exact) + residual f32[x[0], 40] <- f32[x[0], 64], "
        "f32[x[0], 40]\n");
    for (const Form form : {Form::Fp32, Form::Fp16, Form::Int4, Form::Palette}) {
      for (const int64_t rows : {1, 3, 9, 37}) {
        expect_same_bits(with_residual(form, sum), {{rows, 64}});
      }
    }
  }
}

TEST(FuseResidual, OfAConvolutionThatIsShownAsRows) {
  const mil::Model model = make_model(
      "func main<ios18>(tensor<fp16, [1, ?, 64]> x) {\n" + weight(Form::Int4, "w", 40, 1, true) +
      "tensor<fp16, [1, ?, 40]> r = slice_by_size(x = x, begin = tensor<int32, [3]>([0, 0, 9]), "
      "size = tensor<int32, [3]>([1, -1, 40]))[name = string(\"r\")];\n"
      "tensor<fp16, [1, 64, ?]> t = transpose(x = x, perm = tensor<int32, [3]>([0, 2, 1]))[name = "
      "string(\"t\")];\n"
      "tensor<fp16, [1, 64, 1, ?]> c = expand_dims(x = t, axes = tensor<int32, [1]>([2]))[name = "
      "string(\"c\")];\n"
      "tensor<fp16, [1, 40, 1, ?]> p = conv(x = c, weight = w)[name = string(\"p\")];\n"
      "tensor<fp16, [1, 40, ?]> s = squeeze(x = p, axes = tensor<int32, [1]>([2]))[name = "
      "string(\"s\")];\n"
      "tensor<fp16, [1, ?, 40]> u = transpose(x = s, perm = tensor<int32, [3]>([0, 2, 1]))[name = "
      "string(\"u\")];\n"
      "tensor<fp16, [1, ?, 40]> y = add(x = r, y = u)[name = string(\"y\")];\n} -> (y);");
  EXPECT_EQ(described(model),
            "conv int4 (quantized_dot_scalar, exact) + residual f32[x[1], 40] <- f32[x[1], 64], "
            "f32[x[1], "
            "40]\n");
  for (const int64_t rows : {1, 5, 33}) expect_same_bits(model, {{1, rows, 64}});
}

TEST(FuseResidual, LeavesWhatIsNone) {
  // The product is a result, or added to itself, or the added value is broadcast.
  const mil::Model read = with_residual(Form::Fp16, "add(x = p, y = r)", "y, p");
  EXPECT_EQ(described(read), described(read, /*fusion=*/false));
  expect_same_bits(read, {{3, 64}});
  const mil::Model twice = with_residual(Form::Fp16, "add(x = p, y = p)");
  EXPECT_EQ(described(twice), described(twice, /*fusion=*/false));
  const mil::Model difference = with_residual(Form::Fp16, "sub(x = p, y = r)");
  EXPECT_EQ(described(difference), described(difference, /*fusion=*/false));
  const mil::Model row = make_model(
      "func main<ios18>(tensor<fp16, [?, 64]> x, tensor<fp16, [1, 40]> r) {\n" +
      weight(Form::Fp16, "w", 40, 1) + linear(Form::Fp16, "p", 40, "linear(x = x, weight = w)") +
      linear(Form::Fp16, "y", 40, "add(x = p, y = r)") + "} -> (y);");
  EXPECT_EQ(described(row), described(row, /*fusion=*/false));
  expect_same_bits(row, {{3, 64}, {1, 40}});
}

// The sum of two products: the last one adds the other.
TEST(FuseResidual, OfTwoProducts) {
  const mil::Model model = make_model(
      "func main<ios18>(tensor<fp16, [?, 64]> x) {\n" + linear(Form::Fp16, "z", 64, "exp(x = x)") +
      weight(Form::Int4, "a", 40, 1) + weight(Form::Int4, "b", 40, 2) +
      linear(Form::Fp16, "p", 40, "linear(x = x, weight = a)") +
      linear(Form::Fp16, "q", 40, "linear(x = z, weight = b)") +
      linear(Form::Fp16, "y", 40, "add(x = p, y = q)") + "} -> (y);");
  EXPECT_EQ(described(model),
            "exp f32[x[0], 64] <- f32[x[0], 64]\n"
            "linear int4 (quantized_dot_scalar, exact) f32[x[0], 40] <- f32[x[0], 64]\n"
            "linear int4 (quantized_dot_scalar, exact) + residual f32[x[0], 40] <- f32[x[0], 64], "
            "f32[x[0], 40]\n");
  expect_same_bits(model, {{5, 64}});
}

// Two layers of one input, each with a change of low rank: the layers stay one step.
TEST(FuseResidual, TheNarrowerProductAddsTheWiderOne) {
  for (const std::string sum : {"add(x = c{0}, y = p{0})", "add(x = p{0}, y = c{0})"}) {
    std::string text = "func main<ios18>(tensor<fp16, [?, 64]> x) {\n";
    for (const int i : {1, 2}) {
      const std::string w = fmt::format("w{}", i), a = fmt::format("a{}", i);
      text += weight(Form::Int4, w, 40, 1) + weight(Form::Fp16, a, 4, 2) +
              linear(Form::Fp16, fmt::format("p{}", i), 40, "linear(x = x, weight = " + w + ")") +
              linear(Form::Fp16, fmt::format("n{}", i), 4, "linear(x = x, weight = " + a + ")") +
              linear(Form::Fp16, fmt::format("c{}", i), 40,
                     fmt::format("linear(x = n{}, weight = {})", i,
                                 values("fp16", {40, 4}, -999, 999, 3))) +
              linear(Form::Fp16, fmt::format("y{}", i), 40, fmt::format(fmt::runtime(sum), i));
    }
    const mil::Model model = make_model(text + "} -> (y1, y2);");
    const std::string change =
        "linear (dot_f16_scalar) + residual f32[x[0], 40] <- f32[x[0], 4], f16[40, 4], "
        "f32[x[0], 40]\n";
    EXPECT_EQ(described(model),
              "2 linear int4 (quantized_dot_scalar, exact) f32[x[0], 40], f32[x[0], 40] <- "
              "f32[x[0], 64]\n"
              "2 linear (dot_f16_scalar) f32[x[0], 4], f32[x[0], 4] <- f32[x[0], 64], f16[4, 64], "
              "f16[4, 64]\n" +
                  change + change)
        << sum;
    for (const int64_t rows : {1, 5, 33}) expect_same_bits(model, {{rows, 64}});
  }
}

TEST(CommonOperations, AreComputedOnce) {
  ProgramText program("tensor<fp32, [?, 8]> x");
  program.number("a", 2).number("b", 2).number("c", 3).number("tiny", 0);
  const std::string type = "tensor<fp32, [?, 8]>";
  program.op("p", type, "exp(x = x)").op("q", type, "exp(x = x)");
  program.op("p2", type, "mul(x = p, y = a)").op("q2", type, "mul(x = q, y = b)");
  program.op("r2", type, "mul(x = q, y = c)");
  program.op("s", type, "add(x = p2, y = q2)").op("y", type, "add(x = s, y = r2)");
  const mil::Model model = program.returns("y");
  const auto lines = [](const std::string& steps) {
    return std::count(steps.begin(), steps.end(), '\n');
  };
  EXPECT_EQ(lines(described(model)), 5);  // exp, two products, two sums
  EXPECT_EQ(lines(described(model, /*fusion=*/false)), 7);
  expect_same_values(model, {{{1, 8}}, {{5, 8}}}, {Fill::Ordinary, Fill::Extremes});
}

}  // namespace
}  // namespace pippin::engine
