// Programs with compressed weights: plans against the reference interpreter in both precisions, and
// which of them compute without expanding.
#include "pippin/engine/weights/quantized_weight.h"

#include <cmath>
#include <cstring>
#include <random>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/counted_parts_testing.h"
#include "pippin/engine/cpu/make_step.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/engine/reference/reference.h"
#include "pippin/engine/weights/cached_array.h"

namespace pippin::engine {
namespace {

// "tensor<int4, [2, 3]>([1, -2, ...])" with random elements.
std::string integers(std::string_view type, const std::vector<int64_t>& dims, int low, int high,
                     uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> values(static_cast<size_t>(mil::num_elements(dims)));
  for (int& value : values) {
    value = low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  }
  return fmt::format("tensor<{}, [{}]>([{}])", type, fmt::join(dims, ", "),
                     fmt::join(values, ", "));
}

// Halves of small magnitude.
std::string halves(const std::vector<int64_t>& dims, uint32_t seed, bool positive = true) {
  std::mt19937 random(seed);
  std::vector<std::string> values;
  for (int64_t i = 0; i < mil::num_elements(dims); ++i) {
    const double value = static_cast<double>(64 + random() % 64) / 4096;
    values.push_back(fmt::format("{:a}", !positive && random() % 2 == 0 ? -value : value));
  }
  return fmt::format("tensor<fp16, [{}]>([{}])", fmt::join(dims, ", "), fmt::join(values, ", "));
}

// "name = op(...)" for W [96, 64] (or another shape) of one form.
std::string int4_blocks(const std::vector<int64_t>& dims, const std::vector<int64_t>& blocks) {
  return fmt::format(
      "tensor<fp16, [{}]> w = constexpr_blockwise_shift_scale(data = {}, scale = {})[name = "
      "string(\"w\")];\n",
      fmt::join(dims, ", "), integers("int4", dims, -8, 7, 1), halves(blocks, 2));
}
std::string uint4_offsets(const std::vector<int64_t>& dims, const std::vector<int64_t>& blocks) {
  return fmt::format(
      "tensor<fp16, [{}]> w = constexpr_blockwise_shift_scale(data = {}, offset = {}, scale = "
      "{})[name = string(\"w\")];\n",
      fmt::join(dims, ", "), integers("uint4", dims, 0, 15, 1), integers("uint4", blocks, 5, 10, 3),
      halves(blocks, 2));
}
std::string palette(const std::vector<int64_t>& dims, int bits, std::vector<int64_t> groups) {
  groups.push_back(int64_t{1} << bits);
  groups.push_back(1);
  return fmt::format(
      "tensor<fp16, [{}]> w = constexpr_lut_to_dense(indices = {}, lut = {})[name = "
      "string(\"w\")];\n",
      fmt::join(dims, ", "), integers(fmt::format("uint{}", bits), dims, 0, (1 << bits) - 1, 1),
      halves(groups, 2, false));
}

constexpr const char* kLinear =
    "tensor<fp16, [?, 96]> y = linear(x = x, weight = w)[name = string(\"y\")];\n";

std::string function(const std::string& weight, const std::string& rest,
                     std::string_view input = "tensor<fp16, [?, 64]> x") {
  return fmt::format("func main<ios18>({}) {{\n{}{}}} -> (y);", input, weight, rest);
}

// The plan's steps; outputs are compared with the reference for some numbers of rows.
std::string compare(const std::string& body, Precision precision,
                    const std::vector<std::vector<int64_t>>& shapes = {{1, 64}, {3, 64}, {9, 64}},
                    int64_t indices_below = 0) {
  const mil::Model model = make_model(body);
  const ReferenceInterpreter reference(model.program, "main");
  std::string steps;
  for (const int threads : {1, 2}) {
    PlanOptions options;
    options.compute.precision = precision;
    ThreadPool pool(threads);
    const auto plan = Plan::make(model, "main", options);
    steps = plan->describe();
    Execution execution(plan, pool);
    State state(model.functions[0].states);
    ReferenceState reference_state;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (const auto& shape : shapes) {
      execution.bind({shape}, state);
      mil::Tensor x(plan->inputs()[0].declared, shape);
      for (size_t i = 0; i < x.values.size(); ++i) {
        if (indices_below > 0) {
          x.values[i] = static_cast<double>(random() % static_cast<uint32_t>(indices_below));
          execution.int_input(0)[i] = static_cast<int32_t>(x.values[i]);
        } else {
          x.values[i] = mil::round_to_type(normal(random), x.type);
          execution.float_input(0)[i] = static_cast<float>(x.values[i]);
        }
      }
      execution.run();
      const auto outputs = reference.run({{plan->inputs()[0].name, x}}, reference_state);
      const std::vector<double>& expected = outputs.at("y").values;
      double error = 0, size = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        error += std::pow(double{execution.float_output(0)[i]} - expected[i], 2);
        size += std::pow(expected[i], 2);
      }
      // Compared with the reference's fp16 results; 8-bit activations lose about 1 % of the whole.
      EXPECT_LT(std::sqrt(error / size), precision == Precision::Exact ? 1e-3 : 1.2e-2) << steps;
    }
  }
  return steps;
}

void expect_direct(const std::string& body, const std::string& step) {
  EXPECT_NE(compare(body, Precision::Exact).find(step), std::string::npos);
  const std::string fast = compare(body, Precision::Fast);
  EXPECT_NE(fast.find(step), std::string::npos) << fast;
  EXPECT_NE(fast.find("fast"), std::string::npos) << fast;
}

TEST(QuantizedWeight, LinearLayersComputeFromTheStoredForm) {
  expect_direct(function(int4_blocks({96, 64}, {96, 2}), kLinear), "linear int4");
  expect_direct(function(int4_blocks({96, 64}, {96, 4}), kLinear), "linear int4");
  expect_direct(function(int4_blocks({96, 64}, {1, 1}), kLinear), "linear int4");
  expect_direct(function(uint4_offsets({96, 64}, {96, 2}), kLinear), "linear uint4");
  expect_direct(function(uint4_offsets({96, 64}, {96, 1}), kLinear), "linear uint4");
  for (const int bits : {1, 2, 3, 4, 6, 8}) {
    expect_direct(function(palette({96, 64}, bits, {1, 1}), kLinear), "linear palette of");
    expect_direct(function(palette({96, 64}, bits, {6, 1}), kLinear), "linear palette of");
  }
}

// Offsets in fp32 that the engine stores in fewer bits: quotients of 16-bit biases, integers; and
// others, which it leaves as they are.
TEST(QuantizedWeight, FloatOffsetsInWhateverBits) {
  const auto floats = [](std::string_view kind) {
    std::mt19937 random(5);
    std::vector<std::string> values;
    for (int i = 0; i < 96 * 2; ++i) {
      const auto scale = static_cast<float>(64 + random() % 64) / 4096;
      const auto bias = static_cast<float>(512 + random() % 512) / 8192;
      const float value = kind == "scale"      ? scale
                          : kind == "quotient" ? bias / scale
                          : kind == "integer"  ? static_cast<float>(random() % 16)
                                               : bias * 100 / 3;
      values.push_back(fmt::format("{:a}", value));
    }
    return fmt::format("tensor<fp32, [96, 2]>([{}])", fmt::join(values, ", "));
  };
  for (const std::string_view kind : {"quotient", "integer", "other"}) {
    const std::string weight = fmt::format(
        "tensor<fp32, [96, 64]> w = constexpr_blockwise_shift_scale(data = {}, offset = {}, scale "
        "= {})[name = string(\"w\")];\n",
        integers("uint4", {96, 64}, 0, 15, 1), floats(kind), floats("scale"));
    expect_direct(
        function(weight,
                 "tensor<fp32, [?, 96]> y = linear(x = x, weight = w)[name = string(\"y\")];\n",
                 "tensor<fp32, [?, 64]> x"),
        "linear uint4");
  }
}

TEST(QuantizedWeight, PointwiseConvolutionsAndProductsToo) {
  const std::string conv =
      "tensor<fp16, [1, 96, 1, ?]> y = conv(x = x, weight = w)[name = string(\"y\")];\n";
  for (const Precision precision : {Precision::Exact, Precision::Fast}) {
    const std::string steps = compare(
        function(int4_blocks({96, 64, 1, 1}, {96, 2, 1, 1}), conv, "tensor<fp16, [1, 64, 1, ?]> x"),
        precision, {{1, 64, 1, 1}, {1, 64, 1, 7}});
    EXPECT_NE(steps.find("conv int4"), std::string::npos) << steps;
  }
  const std::string product =
      "bool no = const()[name = string(\"no\"), val = bool(false)];\n"
      "bool yes = const()[name = string(\"yes\"), val = bool(true)];\n"
      "tensor<fp16, [?, 96]> y = matmul(x = x, y = w, transpose_x = no, transpose_y = yes)[name = "
      "string(\"y\")];\n";
  expect_direct(function(int4_blocks({96, 64}, {96, 2}), product), "matmul int4");
}

TEST(QuantizedWeight, ProductsWithAMatrixForEachBatch) {
  const auto product = [](const std::string& weight, const std::string& x, const std::string& y,
                          bool transpose_y = true) {
    return function(weight,
                    fmt::format("bool no = const()[name = string(\"no\"), val = bool(false)];\n"
                                "bool t = const()[name = string(\"t\"), val = bool({})];\n"
                                "tensor<fp16, {}> y = matmul(x = x, y = w, transpose_x = no, "
                                "transpose_y = t)[name = string(\"y\")];\n",
                                transpose_y, y),
                    "tensor<fp16, " + x + "> x");
  };
  const std::string all = int4_blocks({6, 96, 64}, {6, 96, 2});
  for (const Precision precision : {Precision::Exact, Precision::Fast}) {
    const auto is_direct = [&](const std::string& body,
                               const std::vector<std::vector<int64_t>>& shapes) {
      return compare(body, precision, shapes).find("matmul (int4") != std::string::npos;
    };
    const std::vector<std::vector<int64_t>> rows = {{6, 1, 64}, {6, 3, 64}, {6, 40, 64}};
    EXPECT_TRUE(is_direct(product(all, "[6, ?, 64]", "[6, ?, 96]"), rows));
    EXPECT_TRUE(
        is_direct(product(all, "[1, 6, ?, 64]", "[1, 6, ?, 96]"), {{1, 6, 1, 64}, {1, 6, 17, 64}}));
    compare(product(int4_blocks({2, 3, 96, 64}, {2, 3, 96, 2}), "[2, 3, ?, 64]", "[2, 3, ?, 96]"),
            precision, {{2, 3, 5, 64}});
    // One batch of x for all, and transposed matrices.
    EXPECT_FALSE(is_direct(product(all, "[1, ?, 64]", "[6, ?, 96]"), {{1, 3, 64}}));
    EXPECT_FALSE(is_direct(product(int4_blocks({6, 64, 96}, {6, 64, 3}), "[6, ?, 64]", "[6, ?, 96]",
                                   /*transpose_y=*/false),
                           {{6, 3, 64}}));
  }
}

TEST(QuantizedWeight, LookUpsExpandTheirRowsOnly) {
  const std::string rest =
      "int32 axis = const()[name = string(\"axis\"), val = int32(0)];\n"
      "tensor<fp16, [?, 64]> y = gather(x = w, indices = x, axis = axis)[name = string(\"y\")];\n";
  for (const auto& weight : {int4_blocks({96, 64}, {96, 2}), palette({96, 64}, 4, {6, 1}),
                             palette({96, 64}, 3, {1, 2})}) {
    const std::string steps =
        compare(function(weight, rest, "tensor<int32, [?]> x"), Precision::Exact, {{1}, {5}}, 96);
    EXPECT_NE(steps.find("gather "), std::string::npos) << steps;
    EXPECT_NE(steps.find("(quantized_dot_"), std::string::npos) << steps;
  }
}

TEST(QuantizedWeight, OtherUsesGetTheExpandedValues) {
  // Rows of the weight are inputs here.
  const std::string product =
      "bool no = const()[name = string(\"no\"), val = bool(false)];\n"
      "tensor<fp16, [?, 80]> y = matmul(x = x, y = w, transpose_x = no, transpose_y = no)[name = "
      "string(\"y\")];\n";
  const std::string sum = "tensor<fp16, [96, 64]> y = add(x = w, y = x)[name = string(\"y\")];\n";
  for (const Precision precision : {Precision::Exact, Precision::Fast}) {
    const std::string steps = compare(function(int4_blocks({64, 80}, {64, 5}), product), precision);
    EXPECT_EQ(steps.find("quantized_dot"), std::string::npos) << steps;
    compare(function(palette({96, 64}, 6, {1, 1}), sum, "tensor<fp16, [96, 64]> x"), precision,
            {{96, 64}});
  }
}

// Blocks that are not a multiple of 16, rows that are not a multiple of 32 or begin within a byte,
// palettes of columns: exact at every precision.
TEST(QuantizedWeight, WhatFastDotsDoNotTakeIsExact) {
  const auto steps_of = [](const std::string& weight, int64_t k, int64_t n) {
    return compare(
        function(weight,
                 fmt::format("tensor<fp16, [?, {}]> y = linear(x = x, weight = w)[name = "
                             "string(\"y\")];\n",
                             n),
                 fmt::format("tensor<fp16, [?, {}]> x", k)),
        Precision::Fast, {{1, k}, {7, k}});
  };
  for (const auto& steps : {steps_of(int4_blocks({96, 64}, {96, 8}), 64, 96),
                            steps_of(int4_blocks({112, 40}, {112, 1}), 40, 112),
                            steps_of(int4_blocks({144, 33}, {144, 1}), 33, 144),
                            steps_of(palette({112, 41}, 6, {1, 1}), 41, 112),
                            steps_of(palette({96, 64}, 4, {1, 2}), 64, 96)}) {
    EXPECT_NE(steps.find("exact"), std::string::npos) << steps;
  }
}

// Memory is for the largest number of rows, and a run may have fewer.
TEST(QuantizedWeight, StepsForMoreRowsHaveTheMemoryOfFewer) {
  const std::vector<uint8_t> codes(32 * 256);
  const std::vector<uint16_t> scales(32 * 16, 0x3c00);
  auto weight = std::make_shared<QuantizedWeight>();
  weight->matrix = {.codes = codes.data(),
                    .n = 32,
                    .k = 512,
                    .bits = 4,
                    .is_signed = true,
                    .block_rows = 1,
                    .block_columns = 32,
                    .blocks_per_row = 16,
                    .scales = scales.data(),
                    .scale_type = kernels::WeightType::F16};
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    Node node{DotNode{"linear", {{weight->matrix.n, weight}}}, std::vector<View>(2)};
    node.views[1].shape = {mil::Dim(1), mil::Dim(weight->matrix.k)};
    const auto step = make_step(node, {.precision = Precision::Fast, .cpu = cpu});
    for (int64_t m = 1; m < 40; ++m) {
      EXPECT_GE(step->scratch_bytes_of(m + 1), step->scratch_bytes_of(m)) << level << " " << m;
    }
  }
}

TEST(QuantizedWeight, ScaledPalettesAreExpandedAsPalettes) {
  const std::string weight = fmt::format(
      "tensor<fp16, [6, 1, 16, 1]> lut = constexpr_blockwise_shift_scale(data = {}, scale = "
      "{})[name = string(\"lut\")];\n"
      "tensor<fp16, [96, 64]> w = constexpr_lut_to_dense(indices = {}, lut = lut)[name = "
      "string(\"w\")];\n",
      integers("int8", {6, 1, 16, 1}, -127, 127, 4), halves({6, 1, 1, 1}, 5),
      integers("uint4", {96, 64}, 0, 15, 6));
  expect_direct(function(weight, kLinear), "linear palette of 4 bits");
}

// compare(), for weights that become dense without the value rules.
void expect_dense(const std::string& weight) {
  std::string lines;
  const LogScope log(LogLevel::Debug, [&lines](LogLevel, std::string_view line) {
    lines += std::string(line) + "\n";
  });
  compare(function(weight, kLinear), Precision::Exact);
  EXPECT_NE(lines.find("'w' becomes dense"), std::string::npos) << lines;
}

// A mask of uint1 with its number of ones.
std::pair<std::string, int64_t> mask(const std::vector<int64_t>& dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> values(static_cast<size_t>(mil::num_elements(dims)));
  int64_t ones = 0;
  for (int& value : values) ones += value = random() % 3 == 0 ? 1 : 0;
  return {fmt::format("tensor<uint1, [{}]>([{}])", fmt::join(dims, ", "), fmt::join(values, ", ")),
          ones};
}

constexpr const char* kToDense =
    "tensor<fp16, [96, 64]> w = constexpr_sparse_to_dense(mask = m, nonzero_data = v)[name = "
    "string(\"w\")];\n";

TEST(QuantizedWeight, SparseFormsBecomeDense) {
  const auto [bits, ones] = mask({96, 64}, 7);
  const std::string plain = fmt::format(
      "tensor<fp16, [96, 64]> w = constexpr_sparse_to_dense(mask = {}, nonzero_data = {})[name = "
      "string(\"w\")];\n",
      bits, halves({ones}, 8, false));
  const std::string blocks = fmt::format(
      "tensor<uint1, [96, 64]> m, tensor<fp16, [{0}]> v = "
      "constexpr_sparse_blockwise_shift_scale(data_mask = {1}, nonzero_data = {2}, scale = {3}, "
      "offset = {4})[name = string(\"s\")];\n",
      ones, bits, integers("int4", {ones}, -8, 7, 9), halves({96, 4}, 10),
      integers("int4", {96, 4}, -2, 2, 11));
  const std::string palettes = fmt::format(
      "tensor<uint1, [96, 64]> m, tensor<fp16, [{0}]> v = constexpr_lut_to_sparse(indices_mask = "
      "{1}, indices_nonzero_data = {2}, lut = {3})[name = string(\"s\")];\n",
      ones, bits, integers("uint6", {ones}, 0, 63, 9), halves({6, 1, 64, 1}, 10, false));
  for (const std::string& weight : {plain, blocks + kToDense, palettes + kToDense}) {
    expect_dense(weight);
  }
}

TEST(QuantizedWeight, VectorPalettesBecomeDense) {
  for (const auto& [axis, dims] :
       {std::pair{0, std::vector<int64_t>{48, 64}}, {1, std::vector<int64_t>{96, 32}}}) {
    const std::string weight = fmt::format(
        "tensor<fp16, [96, 64]> w = constexpr_lut_to_dense(indices = {}, lut = {}, vector_axis = "
        "int32({}))[name = string(\"w\")];\n",
        integers("uint4", dims, 0, 15, 1), halves({6, 2, 16, 2}, 2, false), axis);
    expect_dense(weight);
  }
}

TEST(QuantizedWeight, MasksThatDoNotFitTheirDataAreRefused) {
  const auto [bits, ones] = mask({96, 64}, 7);
  const std::string weight = fmt::format(
      "tensor<fp16, [96, 64]> w = constexpr_sparse_to_dense(mask = {}, nonzero_data = {})[name = "
      "string(\"w\")];\n",
      bits, halves({ones + 1}, 8, false));
  const mil::Model model = make_model(function(weight, kLinear));
  EXPECT_ERROR(Plan::make(model, "main"), ErrorCode::InvalidFile,
               "constexpr_sparse_to_dense 'w': the mask has 1974 ones, the data 1975 elements");
}

TEST(QuantizedWeight, PlansThatLiveTogetherShareWhatIsExpanded) {
  int made = 0;
  const mil::Var var{};
  const ArrayRequest request{&var, 8};
  const auto make = [&made] {
    ++made;
    return std::vector<std::byte>(8);
  };
  SharedBytes first = shared_array(request, make);
  const SharedBytes second = shared_array(request, make);
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 1);
  const mil::Var other{};
  EXPECT_NE(shared_array({&other, 8}, make), first);
}

// One row, a few, and so many that they are divided among threads along with the columns.
TEST(QuantizedWeights, BitsAreTheSameForAnyNumberOfThreads) {
  for (const int64_t rows : {1, 12, 200}) {
    constexpr int64_t kColumns = 1056, kInputs = 512;
    const mil::Model model = make_model(fmt::format(
        "func main<ios18>(tensor<fp16, [{0}, {2}]> x) {{\n{3}tensor<fp16, [{0}, {1}]> y = linear(x "
        "= x, weight = w)[name = string(\"y\")];\n}} -> (y);",
        rows, kColumns, kInputs, int4_blocks({kColumns, kInputs}, {kColumns, kInputs / 32})));
    const auto plan = Plan::make(model, "main", {});
    std::vector<float> expected;
    for (const int threads : {1, 2, 3, 7, 16, 40, 64}) {
      CountedParts parts;
      ThreadPool pool(threads, parts);
      Execution execution(plan, pool);
      State state(model.functions[0].states);
      execution.bind({{rows, kInputs}}, state);
      std::mt19937 random(1);
      std::normal_distribution<float> normal;
      for (float& value : execution.float_input(0)) value = normal(random);
      execution.run();
      const auto y = execution.float_output(0);
      if (expected.empty()) expected.assign(y.begin(), y.end());
      EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size_bytes()), 0) << threads;
      EXPECT_GE(parts.runs, 1) << threads;
    }
  }
}

}  // namespace
}  // namespace pippin::engine
