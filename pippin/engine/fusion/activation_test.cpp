#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

constexpr const char* kType = "tensor<fp32, [1, ?, 10]>";
const std::vector<std::vector<std::vector<int64_t>>> kOne = {{{1, 1, 10}}, {{1, 33, 10}}};
const std::vector<std::vector<std::vector<int64_t>>> kTwo = {{{1, 1, 20}}, {{1, 33, 20}}};

ProgramText activation_program(const std::string& inputs) {
  ProgramText program(inputs);
  program.number("half", 0.5).number("one", 1).number("three", 3).number("two", 2);
  program.number("root_half", 0.70710678).number("root_two", 1.41421356);
  program.number("tanh_scale", 0.79788456).number("cube", 0.044715).number("quick", 1.702);
  program.number("zero", 0.0).number("six", 6).number("sixth", 1 / 6.0);
  program.number("cap", 30).number("inverse_cap", 1 / 30.0).number("other", 0.75);
  return program;
}
ProgramText one_input() {
  return activation_program(std::string(kType) + " x");
}
// x and up are halves of one input, so that they are known to have the same size.
ProgramText two_inputs() {
  ProgramText program = activation_program("tensor<fp32, [1, ?, 20]> both");
  program.part("x", kType, "both", 3, 2, 0, 10).part("up", kType, "both", 3, 2, 10, 20);
  return program;
}
using Lines = std::vector<std::pair<std::string, std::string>>;
ProgramText with(ProgramText program, const Lines& lines) {
  for (const auto& [name, call] : lines) program.op(name, kType, call);
  return program;
}

const std::string kShapes = " f32[1, x[1], 10] <- f32[1, x[1], 10]";
const std::string kHalf = "f32[1, both[1], 10]";
const std::string kHalves = " " + kHalf + " <- " + kHalf + ", " + kHalf + "\n";

void expect_steps(const Lines& lines, const std::string& name,
                  const std::vector<Fill>& fills = {Fill::Ordinary, Fill::Zeros, Fill::Large}) {
  const mil::Model model = with(one_input(), lines).returns("y");
  EXPECT_EQ(described(model), name + kShapes + "\n");
  EXPECT_NE(described(model, /*fusion=*/false), name + kShapes + "\n");
  expect_same_values(model, kOne, fills);
}
// A formula that is not an activation may still be a product of a sigmoid, but has none of the
// activations' names.
void expect_none(const Lines& lines) {
  const mil::Model model = with(one_input(), lines).returns("y");
  const std::string steps = described(model);
  for (const char* name : {"silu", "gelu", "hard_swish", "scaled_tanh"}) {
    EXPECT_EQ(steps.find(name), std::string::npos) << steps;
  }
  expect_same_values(model, kOne, {Fill::Ordinary});
}

TEST(FuseActivation, Silu) {
  expect_steps({{"s", "sigmoid(x = x)"}, {"y", "mul(x = x, y = s)"}}, "silu");
  expect_steps({{"s", "sigmoid(x = x)"}, {"y", "mul(x = s, y = x)"}}, "silu");
}

TEST(FuseActivation, HardSwish) {
  const Lines hard = {{"s", "sigmoid_hard(x = x, alpha = sixth, beta = half)"}};
  const Lines clip = {{"p", "add(x = x, y = three)"},
                      {"s", "clip(x = p, alpha = zero, beta = six)"}};
  const Lines relu6 = {{"p", "add(x = three, y = x)"}, {"s", "relu6(x = p)"}};
  const auto then = [](Lines lines, const Lines& more) {
    lines.insert(lines.end(), more.begin(), more.end());
    return lines;
  };
  expect_steps(then(hard, {{"y", "mul(x = x, y = s)"}}), "hard_swish");
  expect_steps(then(hard, {{"y", "mul(x = s, y = x)"}}), "hard_swish");
  for (const Lines& gate : {clip, relu6}) {
    expect_steps(then(gate, {{"d", "real_div(x = s, y = six)"}, {"y", "mul(x = x, y = d)"}}),
                 "hard_swish");
    expect_steps(then(gate, {{"d", "mul(x = x, y = s)"}, {"y", "real_div(x = d, y = six)"}}),
                 "hard_swish");
    expect_steps(then(gate, {{"d", "mul(x = s, y = sixth)"}, {"y", "mul(x = d, y = x)"}}),
                 "hard_swish");
    // The divisor is not the bound, or the dividend is another value.
    expect_none(then(gate, {{"y", "mul(x = x, y = s)"}}));
    expect_none(then(gate, {{"d", "real_div(x = s, y = six)"}, {"y", "mul(x = p, y = d)"}}));
  }
  expect_none({{"p", "add(x = x, y = three)"},
               {"s", "clip(x = p, alpha = one, beta = six)"},
               {"d", "real_div(x = s, y = six)"},
               {"y", "mul(x = x, y = d)"}});
}

// x is a product itself.
TEST(FuseActivation, SiluOfAProduct) {
  const Lines lines = {
      {"p", "mul(x = x, y = up)"}, {"s", "sigmoid(x = p)"}, {"y", "mul(x = p, y = s)"}};
  const mil::Model model = with(two_inputs(), lines).returns("y");
  EXPECT_EQ(described(model), "mul" + kHalves + "silu " + kHalf + " <- " + kHalf + "\n");
  expect_same_values(model, kTwo, {Fill::Ordinary, Fill::Zeros});
}

TEST(FuseActivation, GeluOfErf) {
  const Lines inner = {
      {"z", "mul(x = x, y = root_half)"}, {"e", "erf(x = z)"}, {"p", "add(x = e, y = one)"}};
  for (const Lines& product : std::vector<Lines>{
           {{"h", "mul(x = x, y = half)"}, {"y", "mul(x = h, y = p)"}},
           {{"h", "mul(x = x, y = p)"}, {"y", "mul(x = half, y = h)"}},
           {{"h", "mul(x = p, y = half)"}, {"y", "mul(x = x, y = h)"}},
           {{"h", "mul(x = x, y = p)"}, {"y", "real_div(x = h, y = two)"}},
       }) {
    Lines lines = inner;
    lines.insert(lines.end(), product.begin(), product.end());
    expect_steps(lines, "gelu");
  }
  expect_steps({{"z", "real_div(x = x, y = root_two)"},
                {"e", "erf(x = z)"},
                {"p", "add(x = one, y = e)"},
                {"h", "mul(x = x, y = half)"},
                {"y", "mul(x = p, y = h)"}},
               "gelu");
}

TEST(FuseActivation, GeluOfTanh) {
  const Lines end = {{"t", "tanh(x = a)"},
                     {"p", "add(x = t, y = one)"},
                     {"h", "mul(x = x, y = half)"},
                     {"y", "mul(x = h, y = p)"}};
  for (const Lines& argument : std::vector<Lines>{
           {{"c", "pow(x = x, y = three)"},
            {"d", "mul(x = c, y = cube)"},
            {"s", "add(x = x, y = d)"},
            {"a", "mul(x = s, y = tanh_scale)"}},
           {{"b", "mul(x = x, y = x)"},
            {"c", "mul(x = b, y = x)"},
            {"d", "mul(x = cube, y = c)"},
            {"s", "add(x = d, y = x)"},
            {"a", "mul(x = tanh_scale, y = s)"}},
           {{"b", "mul(x = x, y = x)"},
            {"c", "mul(x = b, y = cube)"},
            {"s", "add(x = c, y = one)"},
            {"d", "mul(x = x, y = tanh_scale)"},
            {"a", "mul(x = d, y = s)"}},
       }) {
    Lines lines = argument;
    lines.insert(lines.end(), end.begin(), end.end());
    expect_steps(lines, "gelu", {Fill::Ordinary, Fill::Zeros});
  }
}

TEST(FuseActivation, GeluOfSigmoid) {
  expect_steps(
      {{"z", "mul(x = x, y = quick)"}, {"s", "sigmoid(x = z)"}, {"y", "mul(x = x, y = s)"}},
      "gelu");
}

TEST(FuseActivation, SoftCap) {
  expect_steps(
      {{"z", "mul(x = x, y = inverse_cap)"}, {"t", "tanh(x = z)"}, {"y", "mul(x = t, y = cap)"}},
      "scaled_tanh", {Fill::Ordinary, Fill::Large, Fill::Zeros, Fill::Extremes});
  expect_steps(
      {{"z", "real_div(x = x, y = cap)"}, {"t", "tanh(x = z)"}, {"y", "mul(x = cap, y = t)"}},
      "scaled_tanh");
}

TEST(FuseActivation, LeavesWhatIsNone) {
  expect_none(
      {{"z", "mul(x = x, y = other)"}, {"s", "sigmoid(x = z)"}, {"y", "mul(x = x, y = s)"}});
  expect_none({{"z", "mul(x = x, y = root_half)"},
               {"e", "erf(x = z)"},
               {"p", "add(x = e, y = other)"},
               {"h", "mul(x = x, y = half)"},
               {"y", "mul(x = h, y = p)"}});
  expect_none({{"z", "mul(x = x, y = root_half)"},
               {"e", "erf(x = z)"},
               {"p", "add(x = e, y = one)"},
               {"h", "mul(x = x, y = other)"},
               {"y", "mul(x = h, y = p)"}});
  expect_none({{"z", "mul(x = x, y = half)"},
               {"e", "erf(x = z)"},
               {"p", "add(x = e, y = one)"},
               {"h", "mul(x = x, y = half)"},
               {"y", "mul(x = h, y = p)"}});
}

TEST(FuseGate, OfOperations) {
  for (const auto& [call, name] :
       std::vector<std::pair<std::string, std::string>>{{"silu(x = x)", "silu"},
                                                        {"sigmoid(x = x)", "sigmoid"},
                                                        {"gelu(x = x, mode = exact)", "gelu"},
                                                        {"gelu(x = x, mode = tanh)", "gelu"},
                                                        {"gelu(x = x, mode = sigmoid)", "gelu"}}) {
    for (const char* product : {"mul(x = a, y = up)", "mul(x = up, y = a)"}) {
      ProgramText program = two_inputs();
      program.number("exact", "string", "\"EXACT\"");
      program.number("tanh", "string", "\"TANH_APPROXIMATION\"");
      program.number("sigmoid", "string", "\"SIGMOID_APPROXIMATION\"");
      const mil::Model model = with(program, {{"a", call}, {"y", product}}).returns("y");
      SCOPED_TRACE(call);
      EXPECT_EQ(described(model), name + " * up" + kHalves);
      const bool tail = call.find("tanh") != call.npos || call.find("= sigmoid") != call.npos;
      expect_same_values(model, kTwo,
                         tail ? std::vector{Fill::Ordinary, Fill::Zeros}
                              : std::vector{Fill::Ordinary, Fill::Zeros, Fill::Extremes});
    }
  }
}

TEST(FuseGate, OfAFormula) {
  const mil::Model model =
      with(two_inputs(),
           {{"s", "sigmoid(x = x)"}, {"a", "mul(x = x, y = s)"}, {"y", "mul(x = a, y = up)"}})
          .returns("y");
  EXPECT_EQ(described(model), "silu * up" + kHalves);
  expect_same_values(model, kTwo, {Fill::Ordinary, Fill::Zeros});
}

// The activation is a result, too: it is computed for that, and the gate only needs a product.
TEST(FuseGate, KeepsWhatElseIsRead) {
  const mil::Model model =
      with(two_inputs(), {{"a", "silu(x = x)"}, {"y", "mul(x = a, y = up)"}}).returns("y, a");
  EXPECT_EQ(described(model), "silu " + kHalf + " <- " + kHalf + "\nmul" + kHalves);
  expect_same_values(model, kTwo);
}

TEST(FuseGate, LeavesWhatIsNone) {
  for (const Lines& lines : std::vector<Lines>{
           {{"a", "relu(x = x)"}, {"y", "mul(x = a, y = up)"}},
           {{"a", "silu(x = x)"}, {"y", "add(x = a, y = up)"}},
           {{"a", "silu(x = x)"}, {"y", "mul(x = a, y = other)"}},
       }) {
    const mil::Model model = with(two_inputs(), lines).returns("y");
    EXPECT_EQ(described(model), described(model, /*fusion=*/false));
  }
  // One gate for all rows: a fused step would compute it for each.
  ProgramText program = activation_program("tensor<fp32, [1, ?, 11]> both");
  program.part("x", "tensor<fp32, [1, ?, 1]>", "both", 3, 2, 0, 1);
  program.part("up", kType, "both", 3, 2, 1, 11);
  program.op("a", "tensor<fp32, [1, ?, 1]>", "silu(x = x)");
  program.op("y", kType, "mul(x = a, y = up)");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model), described(model, /*fusion=*/false));
  expect_same_values(model, {{{1, 7, 11}}}, {Fill::Ordinary});
}

}  // namespace
}  // namespace pippin::engine
