#include <array>

#include "pippin/engine/fusion/fusion_testing.h"

namespace pippin::engine {
namespace {

const std::vector<Fill> kFills = {Fill::Ordinary, Fill::Large, Fill::Zeros};
const std::vector<std::vector<std::vector<int64_t>>> kRotaryCalls = {{{1, 5, 1, 8}},
                                                                     {{1, 5, 37, 8}}};

std::string heads(const std::string& last) {
  return "tensor<fp32, [1, 3, ?, " + last + "]>";
}

// x, cos and sin are heads of one input, so that they are known to have the same size.
ProgramText rotary_program(int64_t angles = 8) {
  const std::string row = fmt::format("tensor<fp32, [1, 1, ?, {}]>", angles);
  ProgramText program("tensor<fp32, [1, 5, ?, 8]> all");
  program.part("x", heads("8"), "all", 4, 1, 0, 3);
  program.part("c", "tensor<fp32, [1, 1, ?, 8]>", "all", 4, 1, 3, 4);
  program.part("s", "tensor<fp32, [1, 1, ?, 8]>", "all", 4, 1, 4, 5);
  program.part("cos", row, "c", 4, 3, 0, angles).part("sin", row, "s", 4, 3, 0, angles);
  program.number("minus", -1).number("zero", 0).number("axis", "int32", "-1");
  program.integers("b0", {0, 0, 0, 0}).integers("b4", {0, 0, 0, 4}).integers("b1", {0, 0, 0, 1});
  program.integers("e4", {0, 0, 0, 4}).integers("e8", {0, 0, 0, 8});
  program.integers("by_two", {1, 1, 1, 2}).integers("sizes", {4, 4});
  program.integers("merged", {1, 3, -1, 8});
  program.number("mask", "tensor<bool, [4]>", "[true, true, true, false]");
  return program;
}

constexpr const char* kLow = "slice_by_index(x = x, begin = b0, end = e4, end_mask = mask)";
constexpr const char* kHigh = "slice_by_index(x = x, begin = b4, end = e8, end_mask = mask)";
constexpr const char* kEven =
    "slice_by_index(x = x, begin = b0, end = e8, stride = by_two, end_mask = mask)";
constexpr const char* kOdd =
    "slice_by_index(x = x, begin = b1, end = e8, stride = by_two, end_mask = mask)";

constexpr const char* kRotary =
    "rotary f32[1, 3, all[2], 8] <- f32[1, 3, all[2], 8], f32[1, 3, all[2], 8], f32[1, 3, all[2], "
    "8]\n";

// Rotates x, whose halves are low and high.
void rotate(ProgramText& program, const std::string& whole, const std::string& half) {
  program.op("neg", half, "mul(x = high, y = minus)");
  program.op("rot", whole, "concat(values = (neg, low), axis = axis, interleave = no)");
  program.op("a", whole, "mul(x = x, y = cos)").op("b", whole, "mul(x = rot, y = sin)");
  program.op("y", whole, "add(x = a, y = b)");
}

TEST(FuseRotary, OfHalves) {
  for (const char* sum : {"add(x = a, y = b)", "add(x = b, y = a)"}) {
    for (const char* turn : {"mul(x = high, y = minus)", "sub(x = zero, y = high)"}) {
      ProgramText program = rotary_program();
      program.op("low", heads("4"), kLow).op("high", heads("4"), kHigh);
      program.op("neg", heads("4"), turn);
      program.op("rot", heads("8"), "concat(values = (neg, low), axis = axis, interleave = no)");
      program.op("a", heads("8"), "mul(x = x, y = cos)");
      program.op("b", heads("8"), "mul(x = sin, y = rot)");
      program.op("y", heads("8"), sum);
      const mil::Model model = program.returns("y");
      EXPECT_EQ(described(model), kRotary);
      expect_same_values(model, kRotaryCalls, kFills);
    }
  }
}

// The angles of given positions: the products require that the sizes are equal.
TEST(FuseRotary, OfAnglesWithSizesOfOtherInputs) {
  const std::string row = "tensor<fp32, [1, 1, ?, 8]>";
  ProgramText program(heads("8") + " x, " + row + " cos, " + row + " sin");
  program.number("minus", -1).number("axis", "int32", "-1");
  program.part("low", heads("4"), "x", 4, 3, 0, 4).part("high", heads("4"), "x", 4, 3, 4, 8);
  rotate(program, heads("8"), heads("4"));
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model),
            "rotary f32[1, 3, x[2], 8] <- f32[1, 3, x[2], 8], f32[1, 3, x[2], 8], f32[1, 3, x[2], "
            "8]\n");
  expect_same_values(
      model,
      {{{1, 3, 1, 8}, {1, 1, 1, 8}, {1, 1, 1, 8}}, {{1, 3, 37, 8}, {1, 1, 37, 8}, {1, 1, 37, 8}}},
      kFills);
}

TEST(FuseRotary, OfASplit) {
  ProgramText program = rotary_program();
  program.number("count", "int32", "2");
  program.line(heads("4") + " low, " + heads("4") +
               " high = split(x = x, num_splits = count, axis = axis)[name = string(\"split\")];");
  rotate(program, heads("8"), heads("4"));
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model), kRotary);
  expect_same_values(model, kRotaryCalls, kFills);
}

// [a * cos - b * sin, b * cos + a * sin], with angles for each pair.
TEST(FuseRotary, OfHalvesWithHalfTheAngles) {
  ProgramText program = rotary_program(4);
  program.op("low", heads("4"), kLow).op("high", heads("4"), kHigh);
  program.op("p", heads("4"), "mul(x = low, y = cos)")
      .op("q", heads("4"), "mul(x = high, y = sin)");
  program.op("r", heads("4"), "mul(x = high, y = cos)")
      .op("t", heads("4"), "mul(x = low, y = sin)");
  program.op("first", heads("4"), "sub(x = p, y = q)").op("last", heads("4"), "add(x = r, y = t)");
  program.op("y", heads("8"), "concat(values = (first, last), axis = axis, interleave = no)");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(described(model),
            "rotary f32[1, 3, all[2], 8] <- f32[1, 3, all[2], 8], f32[1, 3, all[2], 4], f32[1, 3, "
            "all[2], "
            "4]\n");
  expect_same_values(model, kRotaryCalls, kFills);
}

TEST(FuseRotary, OfPairs) {
  for (const bool stacked : {false, true}) {
    ProgramText program = rotary_program();
    program.op("even", heads("4"), kEven).op("odd", heads("4"), kOdd);
    program.op("neg", heads("4"), "mul(x = odd, y = minus)");
    if (stacked) {
      program.op("both", "tensor<fp32, [1, 3, ?, 4, 2]>",
                 "stack(values = (neg, even), axis = axis)");
      program.op("rot", heads("8"), "reshape(x = both, shape = merged)");
    } else {
      program.op("rot", heads("8"), "concat(values = (neg, even), axis = axis, interleave = yes)");
    }
    program.op("a", heads("8"), "mul(x = x, y = cos)");
    program.op("b", heads("8"), "mul(x = rot, y = sin)");
    program.op("y", heads("8"), "add(x = a, y = b)");
    const mil::Model model = program.returns("y");
    EXPECT_EQ(described(model), std::string("rotary of pairs") + (kRotary + 6));
    expect_same_values(model, kRotaryCalls, kFills);
  }
}

TEST(FuseRotary, OfPairsWithHalfTheAngles) {
  ProgramText program = rotary_program(4);
  program.op("even", heads("4"), kEven).op("odd", heads("4"), kOdd);
  program.op("p", heads("4"), "mul(x = even, y = cos)")
      .op("q", heads("4"), "mul(x = odd, y = sin)");
  program.op("r", heads("4"), "mul(x = odd, y = cos)")
      .op("t", heads("4"), "mul(x = even, y = sin)");
  program.op("first", heads("4"), "sub(x = p, y = q)").op("last", heads("4"), "add(x = t, y = r)");
  program.op("both", "tensor<fp32, [1, 3, ?, 4, 2]>", "stack(values = (first, last), axis = axis)");
  program.op("y", heads("8"), "reshape(x = both, shape = merged)");
  const mil::Model model = program.returns("y");
  EXPECT_EQ(
      described(model),
      "rotary of pairs f32[1, 3, all[2], 8] <- f32[1, 3, all[2], 8], f32[1, 3, all[2], 4], f32[1, "
      "3, all[2], 4]\n");
  expect_same_values(model, kRotaryCalls, kFills);
}

// (1, heads, head_dim, q): all are transposed so that the elements of a head are adjacent.
TEST(FuseRotary, AlongAnotherAxis) {
  for (const int64_t q : {1, 37}) {
    const std::string whole = fmt::format("tensor<fp32, [1, 3, 8, {}]>", q),
                      half = fmt::format("tensor<fp32, [1, 3, 4, {}]>", q),
                      row = fmt::format("tensor<fp32, [1, 1, 8, {}]>", q);
    ProgramText program(whole + " x, " + row + " cos, " + row + " sin");
    program.number("minus", -1).number("axis", "int32", "2");
    program.part("low", half, "x", 4, 2, 0, 4).part("high", half, "x", 4, 2, 4, 8);
    rotate(program, whole, half);
    const mil::Model model = program.returns("y");
    const std::string steps = described(model);
    EXPECT_NE(steps.find("rotary"), std::string::npos) << steps;
    EXPECT_EQ(steps.find("mul"), std::string::npos) << steps;
    expect_same_values(model, {{{1, 3, 8, q}, {1, 1, 8, q}, {1, 1, 8, q}}}, kFills);
  }
}

TEST(FuseRotary, LeavesWhatIsNone) {
  const std::vector<std::array<std::string, 3>> misses = {
      // rotated value, its order, the other product
      {"mul(x = low, y = minus)", "(neg, high)", "mul(x = x, y = cos)"},   // the wrong half
      {"mul(x = high, y = minus)", "(low, neg)", "mul(x = x, y = cos)"},   // the wrong order
      {"mul(x = high, y = cube)", "(neg, low)", "mul(x = x, y = cos)"},    // not negated
      {"mul(x = high, y = minus)", "(neg, low)", "mul(x = cos, y = cos)"}  // not x
  };
  for (const auto& [turn, values, along] : misses) {
    const bool other = along.find("x = x") == along.npos;
    ProgramText program = rotary_program();
    program.number("cube", -1.5);
    program.op("low", heads("4"), kLow).op("high", heads("4"), kHigh);
    program.op("neg", heads("4"), turn);
    program.op("rot", heads("8"), "concat(values = " + values + ", axis = axis, interleave = no)");
    program.op("a", other ? "tensor<fp32, [1, 1, ?, 8]>" : heads("8"), along);
    program.op("b", heads("8"), "mul(x = rot, y = sin)");
    program.op("y", heads("8"), "add(x = a, y = b)");
    const mil::Model model = program.returns("y");
    EXPECT_EQ(described(model).find("rotary"), std::string::npos) << turn << values << along;
    expect_same_values(model, kRotaryCalls, {Fill::Ordinary});
  }
}

// The rotated value is a result, too.
TEST(FuseRotary, KeepsWhatElseIsRead) {
  ProgramText program = rotary_program();
  program.op("low", heads("4"), kLow).op("high", heads("4"), kHigh);
  rotate(program, heads("8"), heads("4"));
  const mil::Model model = program.returns("y, rot");
  const std::string steps = described(model);
  EXPECT_NE(steps.find(kRotary), std::string::npos) << steps;
  EXPECT_NE(steps.find("copy"), std::string::npos) << steps;
  expect_same_values(model, kRotaryCalls, kFills);
}

}  // namespace
}  // namespace pippin::engine
