// Reductions, products, normalizations, attention, sorting, compressed weights.
#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

constexpr double kNaN = NAN, kInf = INFINITY;
const Tensor kSix = floats({2, 3}, {0, 1, 2, 3, 4, 5});

TEST(Reduce, AxesAndKeptDims) {
  expect_tensor(run_one("reduce_sum", {{"x", {kSix}}}), {}, {15});
  expect_tensor(run_one("reduce_mean", {{"x", {kSix}}, {"axes", {ints({-1})}}}), {2}, {1, 4});
  expect_tensor(
      run_one("reduce_max", {{"x", {kSix}}, {"axes", {ints({0})}}, {"keep_dims", {flag(true)}}}),
      {1, 3}, {3, 4, 5});
  expect_tensor(run_one("reduce_min", {{"x", {floats({2}, {1, kNaN})}}}), {}, {kNaN});
  expect_tensor(run_one("reduce_sum", {{"x", {floats({2, 0}, {})}}, {"axes", {ints({1})}}}), {2},
                {0, 0});
  EXPECT_EQ(error_code_of([] {
              run_one("reduce_sum", {{"x", {kSix}}, {"axes", {ints({0, -2})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Reduce, LogSumExpIsStable) {
  expect_tensor(run_one("reduce_log_sum_exp", {{"x", {floats({2}, {1000, 1000})}}}), {},
                {1000 + std::log(2.0)});
  expect_tensor(run_one("reduce_log_sum_exp", {{"x", {floats({2}, {-kInf, -kInf})}}}), {}, {-kInf});
}

TEST(Reduce, ArgmaxTakesTheFirst) {
  const Tensor x = floats({2, 3}, {1, 7, 7, 4, 4, 0});
  expect_tensor(run_one("reduce_argmax", {{"x", {x}}}), {2}, {1, 0});
  expect_tensor(
      run_one("reduce_argmin", {{"x", {x}}, {"axis", {integer(0)}}, {"keep_dims", {flag(true)}}}),
      {1, 3}, {0, 1, 1});
  EXPECT_EQ(run_one("reduce_argmax", {{"x", {x}}, {"output_dtype", {text("uint16")}}}).type,
            DataType::UInt16);
}

TEST(Matmul, VectorsAndTranspositions) {
  const Tensor v = floats({3}, {1, 0, 2});
  expect_tensor(run_one("matmul", {{"x", {kSix}}, {"y", {v}}}), {2}, {4, 13});
  expect_tensor(run_one("matmul", {{"x", {v}}, {"y", {v}}}), {}, {5});
  expect_tensor(run_one("matmul", {{"x", {kSix}}, {"y", {kSix}}, {"transpose_y", {flag(true)}}}),
                {2, 2}, {5, 14, 14, 50});
  expect_tensor(run_one("matmul", {{"x", {kSix}}, {"y", {kSix}}, {"transpose_x", {flag(true)}}}),
                {3, 3}, {9, 12, 15, 12, 17, 22, 15, 22, 29});
  // Batches broadcast.
  expect_tensor(
      run_one("matmul", {{"x", {floats({2, 1, 1}, {2, 3})}}, {"y", {floats({1, 2}, {1, 10})}}}),
      {2, 1, 2}, {2, 20, 3, 30});
  EXPECT_EQ(error_code_of([] {
              run_one("matmul", {{"x", {kSix}}, {"y", {kSix}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Linear, OfNothingIsTheBias) {
  expect_tensor(run_one("linear", {{"x", {floats({2, 0}, {})}},
                                   {"weight", {floats({3, 0}, {})}},
                                   {"bias", {floats({3}, {1, 2, 3})}}}),
                {2, 3}, {1, 2, 3, 1, 2, 3});
}

TEST(Pooling, KernelsFarLargerThanTheInput) {
  const double huge = 1 << 30;
  const Tensor x = floats({1, 1, 3}, {1, 2, 3});
  expect_tensor(run_one("max_pool", {{"x", {x}},
                                     {"kernel_sizes", {ints({huge})}},
                                     {"pad_type", {text("custom")}},
                                     {"pad", {ints({huge - 1, 0})}}}),
                {1, 1, 3}, {1, 2, 3});
}

TEST(Convolution, RefusesAbsurdKernels) {
  EXPECT_EQ(error_code_of([] {
              run_one("conv", {{"x", {floats({1, 1, 3}, {1, 2, 3})}},
                               {"weight", {floats({1, 1, 5}, {1, 1, 1, 1, 1})}},
                               {"dilations", {ints({1 << 30})}},
                               {"pad_type", {text("same")}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(BatchNorm, TakesWidenedInputsBeforeOpset7) {
  const auto half = [](std::vector<double> values) {
    return numbers(DataType::Float16, {1}, std::move(values));
  };
  Operation operation("batch_norm");
  operation.inputs()["x"].push_back(to_value(floats({1, 1, 2}, {1, 3})));
  operation.inputs()["mean"].push_back(to_value(half({1})));
  operation.inputs()["variance"].push_back(to_value(half({4})));
  operation.add_output("y", ValueType::tensor(DataType::Float16, {1, 1, 2}));
  std::vector<Constraint> constraints;
  const auto no_vars = [](const Var*) -> const ValueInfo& {
    throw Error(ErrorCode::Internal, "no values");
  };
  const auto type_in = [&](Opset opset) {
    return infer_operation(operation, opset, no_vars, constraints).at(0).type;
  };
  EXPECT_EQ(type_in(Opset::CoreML5), DataType::Float16);
  EXPECT_EQ(error_code_of([&] { type_in(Opset::CoreML7); }), ErrorCode::InvalidFile);
}

TEST(Linear, AnyRank) {
  const Tensor weight = floats({2, 3}, {1, 0, 0, 0, 1, 1});
  expect_tensor(run_one("linear", {{"x", {floats({1, 1, 2, 3}, kSix.values)}},
                                   {"weight", {weight}},
                                   {"bias", {floats({2}, {10, 20})}}}),
                {1, 1, 2, 2}, {10, 23, 13, 29});
}

TEST(Einsum, GeneralEquations) {
  const auto einsum = [](std::string equation, const Tensor& x, const Tensor& y) {
    return run_one("einsum", {{"values", {x, y}}, {"equation", {text(std::move(equation))}}});
  };
  expect_tensor(einsum("ij,kj->ik", kSix, kSix), {2, 2}, {5, 14, 14, 50});
  expect_tensor(einsum("ij,ij->", kSix, kSix), {}, {55});
  expect_tensor(einsum("ij,j->ji", kSix, floats({3}, {1, 10, 100})), {3, 2},
                {0, 3, 10, 40, 200, 500});
  EXPECT_EQ(error_code_of([&] { einsum("ij,jk->iz", kSix, kSix); }), ErrorCode::InvalidFile);
}

TEST(Conv, PaddingAndGroups) {
  const Tensor x = floats({1, 1, 5}, {1, 2, 3, 4, 5}), w = floats({1, 1, 2}, {1, 10});
  expect_tensor(run_one("conv", {{"x", {x}}, {"weight", {w}}}), {1, 1, 4}, {21, 32, 43, 54});
  expect_tensor(run_one("conv", {{"x", {x}}, {"weight", {w}}, {"pad_type", {text("same")}}}),
                {1, 1, 5}, {21, 32, 43, 54, 5});
  expect_tensor(run_one("conv", {{"x", {x}}, {"weight", {w}}, {"pad_type", {text("same_lower")}}}),
                {1, 1, 5}, {10, 21, 32, 43, 54});
  expect_tensor(run_one("conv", {{"x", {x}},
                                 {"weight", {w}},
                                 {"pad_type", {text("custom")}},
                                 {"pad", {ints({0, 1})}},
                                 {"strides", {ints({2})}},
                                 {"dilations", {ints({2})}}}),
                {1, 1, 2}, {31, 53});
  expect_tensor(run_one("conv", {{"x", {floats({1, 2, 1}, {3, 4})}},
                                 {"weight", {floats({2, 1, 1}, {10, 100})}},
                                 {"groups", {integer(2)}},
                                 {"bias", {floats({2}, {1, 2})}}}),
                {1, 2, 1}, {31, 402});
  expect_tensor(run_one("conv_transpose", {{"x", {floats({1, 1, 2}, {1, 2})}},
                                           {"weight", {floats({1, 1, 3}, {1, 10, 100})}},
                                           {"strides", {ints({2})}}}),
                {1, 1, 5}, {1, 10, 102, 20, 200});
}

TEST(LayerNorm, GammaBetaAndAxes) {
  expect_tensor(run_one("layer_norm", {{"x", {floats({1, 2}, {1, 3})}},
                                       {"axes", {ints({-1})}},
                                       {"gamma", {floats({2}, {2, 2})}},
                                       {"beta", {floats({2}, {1, 0})}},
                                       {"epsilon", {floats({}, {0})}}}),
                {1, 2}, {-1, 2});
  expect_tensor(run_one("layer_norm", {{"x", {floats({2, 1}, {1, 3})}}, {"axes", {ints({0})}}}),
                {2, 1}, {-0.999995, 0.999995});
}

TEST(L2Norm, TakesThreeAxes) {
  expect_tensor(run_one("l2_norm", {{"x", {floats({2, 1, 1, 2}, {3, 4, 0, 0})}},
                                    {"epsilon", {floats({}, {0.25})}}}),
                {2, 1, 1, 2}, {3 / std::sqrt(25.25), 4 / std::sqrt(25.25), 0, 0});
}

TEST(Attention, Masks) {
  const Tensor q = floats({1, 2, 1}, {0, 0}), k = floats({1, 2, 1}, {1, 2});
  const Tensor v = floats({1, 2, 2}, {1, 2, 3, kInf});
  const auto attend = [&](const Tensor& mask) {
    return run_one("scaled_dot_product_attention",
                   {{"query", {q}}, {"key", {k}}, {"value", {v}}, {"attn_mask", {mask}}});
  };
  // A masked key does not contribute, whatever its value.
  expect_tensor(attend(numbers(DataType::Bool, {2, 2}, {1, 0, 1, 1})), {1, 2, 2}, {1, 2, 2, kInf});
  expect_tensor(attend(floats({1, 1, 2}, {0, -kInf})), {1, 2, 2}, {1, 2, 1, 2});
  const Tensor nothing = attend(numbers(DataType::Bool, {1, 2}, {0, 0}));
  EXPECT_TRUE(std::isnan(nothing.values[0]));
  expect_tensor(run_one("scaled_dot_product_attention",
                        {{"query", {floats({1, 1, 4}, {1, 1, 1, 1})}},
                         {"key", {floats({1, 2, 4}, {0, 0, 0, 0, 1, 1, 1, 1})}},
                         {"value", {floats({1, 2, 1}, {0, 1})}}}),
                {1, 1, 1}, {1 / (1 + std::exp(-2.0))});
}

TEST(Sorting, TopkAndArgsort) {
  const Tensor x = floats({4}, {2, 9, 4, 9});
  const auto top = run_op("topk", {{"x", {x}}, {"k", {integer(3)}}});
  ASSERT_EQ(top.size(), 2u);
  expect_tensor(top[0], {3}, {9, 9, 4});
  expect_tensor(top[1], {3}, {1, 3, 2});
  EXPECT_EQ(
      run_op("topk", {{"x", {x}}, {"k", {integer(-1)}}, {"return_indices", {flag(false)}}}).size(),
      1u);
  expect_tensor(run_one("argsort", {{"x", {x}}}), {4}, {1, 3, 2, 0});
  expect_tensor(run_one("argsort", {{"x", {x}}, {"ascending", {flag(true)}}}), {4}, {0, 2, 1, 3});
}

TEST(Cumsum, ExclusiveAndReverse) {
  const Tensor x = floats({3}, {1, 2, 3});
  expect_tensor(run_one("cumsum", {{"x", {x}}}), {3}, {1, 3, 6});
  expect_tensor(run_one("cumsum", {{"x", {x}}, {"exclusive", {flag(true)}}}), {3}, {0, 1, 3});
  expect_tensor(
      run_one("cumsum", {{"x", {x}}, {"exclusive", {flag(true)}}, {"reverse", {flag(true)}}}), {3},
      {5, 3, 0});
}

TEST(Quantize, RoundsAndClamps) {
  const auto quantize = [](std::string type) {
    return run_one("quantize", {{"input", {floats({4}, {-1000, 0.25, 0.75, 1000})}},
                                {"scale", {floats({}, {0.5})}},
                                {"output_dtype", {text(std::move(type))}}});
  };
  expect_tensor(quantize("int8"), {4}, {-128, 0, 2, 127});
  expect_tensor(quantize("uint8"), {4}, {0, 0, 2, 255});
  expect_tensor(run_one("dequantize", {{"input", {numbers(DataType::UInt8, {2, 1}, {3, 5})}},
                                       {"scale", {floats({2}, {0.5, 2})}},
                                       {"zero_point", {numbers(DataType::UInt8, {2}, {1, 6})}},
                                       {"axis", {integer(0)}}}),
                {2, 1}, {1, -2});
}

TEST(Constexpr, Blockwise) {
  const Tensor data = numbers(DataType::Int4, {2, 4}, {-8, 7, 1, 2, 3, 4, 5, 6});
  expect_tensor(run_one("constexpr_blockwise_shift_scale",
                        {{"data", {data}},
                         {"scale", {floats({1, 2}, {1, 10})}},
                         {"offset", {numbers(DataType::Int4, {1, 2}, {1, 0})}}}),
                {2, 4}, {-9, 6, 10, 20, 2, 3, 50, 60});
  EXPECT_EQ(error_code_of([&] {
              run_one("constexpr_blockwise_shift_scale",
                      {{"data", {data}}, {"scale", {floats({1, 3}, {1, 1, 1})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Constexpr, PalettesWithGroupsAndVectors) {
  const Tensor indices = numbers(DataType::UInt1, {2, 2}, {0, 1, 1, 0});
  // One palette per row.
  expect_tensor(run_one("constexpr_lut_to_dense",
                        {{"indices", {indices}}, {"lut", {floats({2, 1, 2, 1}, {1, 2, 10, 20})}}}),
                {2, 2}, {1, 2, 20, 10});
  // Pairs of values along axis 0.
  expect_tensor(run_one("constexpr_lut_to_dense", {{"indices", {indices}},
                                                   {"lut", {floats({1, 1, 2, 2}, {1, 2, 10, 20})}},
                                                   {"vector_axis", {integer(0)}}}),
                {4, 2}, {1, 10, 2, 20, 10, 1, 20, 2});
}

TEST(Constexpr, Sparse) {
  const Tensor mask = numbers(DataType::UInt1, {2, 2}, {0, 1, 1, 0});
  expect_tensor(run_one("constexpr_sparse_to_dense",
                        {{"nonzero_data", {floats({2}, {7, 8})}}, {"mask", {mask}}}),
                {2, 2}, {0, 7, 8, 0});
  EXPECT_EQ(error_code_of([&] {
              run_one("constexpr_sparse_to_dense",
                      {{"nonzero_data", {floats({1}, {7})}}, {"mask", {mask}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(Constexpr, PackedBytesBeforeCoreML8) {
  // Two bits each, the first in the lowest bits: 3 2 1 0, 1.
  expect_tensor(run_one("constexpr_lut_to_dense",
                        {{"indices", {numbers(DataType::UInt8, {2}, {0b00011011, 0b01})}},
                         {"lut", {floats({4}, {10, 11, 12, 13})}},
                         {"shape", {numbers(DataType::UInt32, {1}, {5})}}},
                        Opset::CoreML6),
                {5}, {13, 12, 11, 10, 11});
  EXPECT_EQ(error_code_of([] {
              run_one("constexpr_lut_to_dense",
                      {{"indices", {numbers(DataType::UInt8, {1}, {0})}},
                       {"lut", {floats({4}, {10, 11, 12, 13})}},
                       {"shape", {numbers(DataType::UInt32, {1}, {5})}}},
                      Opset::CoreML6);
            }),
            ErrorCode::InvalidFile);
}

}  // namespace
}  // namespace pippin::mil
