// Rules for writing compared with those for running: each case is paired with one that both accept.
#include "pippin/mil/ops/written.h"

#include "pippin/base/testing.h"
#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

// The inferred shape of an operation on literals.
Shape inferred(Purpose purpose, const std::string& type, const Arguments& arguments,
               Opset opset = Opset::CoreML8) {
  Operation operation(type);
  for (const auto& [name, tensors] : arguments) {
    for (const Tensor& tensor : tensors) operation.inputs()[name].push_back(to_value(tensor));
  }
  const auto no_vars = [](const Var*) -> const ValueInfo& {
    throw Error(ErrorCode::Internal, "no values");
  };
  std::vector<Constraint> constraints;
  return infer_operation(operation, opset, no_vars, constraints, purpose).at(0).shape;
}

Shape written(const std::string& type, const Arguments& arguments, Opset opset = Opset::CoreML8) {
  return inferred(Purpose::Write, type, arguments, opset);
}

// Runs, but must not be written.
#define EXPECT_ONLY_RUNS(message, ...)                                                    \
  do {                                                                                    \
    EXPECT_NO_THROW(inferred(Purpose::Run, __VA_ARGS__));                                 \
    EXPECT_ERROR(inferred(Purpose::Write, __VA_ARGS__), ErrorCode::InvalidFile, message); \
  } while (false)

Tensor zeros(std::vector<int64_t> shape, DataType type = DataType::Float32) {
  return Tensor(type, std::move(shape));
}

TEST(Written, SelectHasTheShapeOfItsBranches) {
  const Tensor cond = zeros({2, 3}, DataType::Bool);
  const auto select = [&](const Tensor& a, const Tensor& b) {
    return Arguments{{"cond", {cond}}, {"a", {a}}, {"b", {b}}};
  };
  EXPECT_ONLY_RUNS("a and b broadcast to [], with cond to [2, 3]: coremltools gives", "select",
                   select(zeros({}), zeros({})));
  EXPECT_ONLY_RUNS("a and b broadcast to [1, 3], with cond to [2, 3]", "select",
                   select(zeros({1, 3}), zeros({3})));
  EXPECT_EQ(written("select", select(zeros({}), zeros({2, 3}))), (Shape{2, 3}));
  EXPECT_EQ(written("select", select(zeros({2, 1}), zeros({3}))), (Shape{2, 3}));
  EXPECT_ONLY_RUNS("coremltools does not accept int16 a", "select",
                   select(zeros({2, 3}, DataType::Int16), zeros({2, 3}, DataType::Int16)));
}

TEST(Written, ConcatJoinsOneRank) {
  const auto concat = [](const Tensor& a, const Tensor& b) {
    return Arguments{{"values", {a, b}}, {"axis", {integer(0)}}};
  };
  EXPECT_ONLY_RUNS("coremltools cannot join values of ranks 1 and 0", "concat",
                   concat(ints({1, 2}), integer(3)));
  EXPECT_EQ(written("concat", concat(integer(1), integer(3))), (Shape{2}));
}

TEST(Written, TileRepeatsAtLeastOnce) {
  const auto tile = [](const Tensor& x, std::vector<double> reps) {
    return Arguments{{"x", {x}}, {"reps", {ints(std::move(reps))}}};
  };
  EXPECT_ONLY_RUNS("reps[1] is 0, coremltools requires 1 or more", "tile",
                   tile(zeros({2, 3}), {1, 0}));
  EXPECT_ONLY_RUNS("coremltools cannot tile a scalar", "tile", tile(zeros({}), {}));
  EXPECT_EQ(written("tile", tile(zeros({2, 3}), {1, 2})), (Shape{2, 6}));
}

TEST(Written, UpdatesHaveAnAxis) {
  const auto update = [](const Tensor& value, bool squeeze) {
    return Arguments{{"x", {zeros({4})}},
                     {"update", {value}},
                     {"begin", {ints({1})}},
                     {"end", {ints({2})}},
                     {"squeeze_mask", {bools({squeeze ? 1.0 : 0.0})}}};
  };
  EXPECT_ONLY_RUNS("coremltools does not accept a scalar update", "slice_update",
                   update(zeros({}), true));
  EXPECT_EQ(written("slice_update", update(zeros({1}), false)), (Shape{4}));
}

TEST(Written, MatmulTransposesMatrices) {
  const auto matmul = [](const Tensor& x, DataType type, bool transpose) {
    return Arguments{{"x", {x}}, {"y", {zeros({3, 4}, type)}}, {"transpose_x", {flag(transpose)}}};
  };
  EXPECT_ONLY_RUNS("coremltools does not transpose x of rank 1", "matmul",
                   matmul(zeros({3}), DataType::Float32, true));
  EXPECT_EQ(written("matmul", matmul(zeros({3}), DataType::Float32, false)), (Shape{4}));
  EXPECT_EQ(written("matmul", matmul(zeros({3, 2}), DataType::Float32, true)), (Shape{2, 4}));
}

TEST(Written, AttentionBroadcastsNoBatch) {
  const auto attention = [](int64_t heads, std::vector<int64_t> mask) {
    return Arguments{{"query", {zeros({1, 4, 2, 8})}},
                     {"key", {zeros({1, heads, 3, 8})}},
                     {"value", {zeros({1, heads, 3, 8})}},
                     {"attn_mask", {zeros(std::move(mask))}}};
  };
  const std::string op = "scaled_dot_product_attention";
  EXPECT_ONLY_RUNS("query has the batch [1, 4], key [1, 1]: coremltools does not broadcast them",
                   op, attention(1, {2, 3}));
  EXPECT_ONLY_RUNS("attn_mask [2, 1] for 3 keys: coremltools does not broadcast them", op,
                   attention(4, {2, 1}));
  EXPECT_EQ(written(op, attention(4, {1, 3})), (Shape{1, 4, 2, 8}));
}

TEST(Written, ComputedAmountsOfPaddingAreOfAllAxes) {
  const auto pad = [](Purpose purpose, int64_t amounts) {
    Var var{"pad", ValueType::tensor(DataType::Int32, {amounts})};
    Operation operation("pad");
    operation.inputs()["x"].push_back(to_value(zeros({2, 3})));
    operation.inputs()["pad"].emplace_back(&var);
    const ValueInfo info = tensor_info(DataType::Int32, {Dim(amounts)});
    std::vector<Constraint> constraints;
    return infer_operation(
               operation, Opset::CoreML8, [&](const Var*) -> const ValueInfo& { return info; },
               constraints, purpose)
        .at(0)
        .shape.size();
  };
  EXPECT_EQ(pad(Purpose::Run, 2), 2u);
  EXPECT_ERROR(pad(Purpose::Write, 2), ErrorCode::InvalidFile,
               "pad has 2 elements, coremltools needs 4 where they are computed");
  EXPECT_EQ(pad(Purpose::Write, 4), 2u);
}

TEST(Written, PreluHasChannels) {
  const auto prelu = [](std::vector<int64_t> shape) {
    return Arguments{{"x", {zeros(std::move(shape))}}, {"alpha", {floats({2}, {0.5, 0.5})}}};
  };
  EXPECT_ONLY_RUNS("x has rank 2, coremltools requires 3 to 5", "prelu", prelu({1, 2}));
  EXPECT_EQ(written("prelu", prelu({1, 2, 3})), (Shape{1, 2, 3}));
}

TEST(Written, EinsumHasTwoEquations) {
  const auto einsum = [](std::string equation, std::vector<int64_t> x, std::vector<int64_t> y) {
    return Arguments{{"values", {zeros(std::move(x)), zeros(std::move(y))}},
                     {"equation", {text(std::move(equation))}}};
  };
  EXPECT_ONLY_RUNS("coremltools has no equation \"ij,jk->ik\"", "einsum",
                   einsum("ij,jk->ik", {2, 3}, {3, 4}));
  EXPECT_ONLY_RUNS("coremltools does not broadcast a summed axis", "einsum",
                   einsum("nchw,nwhu->nchu", {1, 2, 3, 1}, {1, 4, 3, 5}));
  EXPECT_EQ(written("einsum", einsum("nchw,nwhu->nchu", {1, 2, 3, 4}, {1, 4, 3, 5})),
            (Shape{1, 2, 3, 5}));
  EXPECT_EQ(written("einsum", einsum("chw, whu -> chu", {2, 3, 4}, {4, 1, 5})), (Shape{2, 3, 5}));
}

TEST(Written, ZerosOfAReshapeCopyAxesOfTheSameRank) {
  const auto reshape = [](std::vector<double> shape) {
    return Arguments{{"x", {zeros({2, 0})}}, {"shape", {ints(std::move(shape))}}};
  };
  EXPECT_ONLY_RUNS("a 0 in shape, from rank 2 to 3: before CoreML7 coremltools requires one rank",
                   "reshape", reshape({2, 0, 4}), Opset::CoreML6);
  EXPECT_EQ(written("reshape", reshape({2, 0}), Opset::CoreML6), (Shape{2, 0}));
  EXPECT_EQ(written("reshape", reshape({2, 4, 0}), Opset::CoreML7), (Shape{2, 4, 0}));
}

TEST(Written, ParametersShareTheirType) {
  const auto linear = [](DataType weight, DataType bias) {
    return Arguments{{"x", {zeros({2, 3}, DataType::Float16)}},
                     {"weight", {zeros({4, 3}, weight)}},
                     {"bias", {zeros({4}, bias)}}};
  };
  constexpr DataType kHalf = DataType::Float16, kFloat = DataType::Float32;
  EXPECT_ONLY_RUNS("weight is fp16 and bias is fp32: coremltools requires one type", "linear",
                   linear(kHalf, kFloat));
  EXPECT_ONLY_RUNS("x is fp16 and weight is fp32: coremltools requires one type", "linear",
                   linear(kFloat, kFloat), Opset::CoreML6);
  // Since CoreML7, x may differ from both.
  EXPECT_EQ(written("linear", linear(kFloat, kFloat), Opset::CoreML7), (Shape{2, 4}));
  EXPECT_EQ(written("linear", linear(kHalf, kHalf), Opset::CoreML6), (Shape{2, 4}));
}

TEST(Written, ElementTypesAreThoseOfTheOpset) {
  const auto of_x = [](DataType type) {
    return Arguments{{"x", {zeros({2}, type)}}, {"axes", {ints({0})}}};
  };
  EXPECT_ONLY_RUNS("coremltools does not accept int16 x in opset CoreML6", "expand_dims",
                   of_x(DataType::Int16), Opset::CoreML6);
  EXPECT_EQ(written("expand_dims", of_x(DataType::Int16), Opset::CoreML7), (Shape{1, 2}));
  const auto sum = [](DataType type) {
    return Arguments{{"x", {zeros({2}, type)}}, {"y", {zeros({2}, type)}}};
  };
  EXPECT_ONLY_RUNS("coremltools does not accept int16 x", "add", sum(DataType::Int16));
  EXPECT_ONLY_RUNS("coremltools does not accept bool x", "equal", sum(DataType::Bool));
  EXPECT_EQ(written("add", sum(DataType::Int32)), (Shape{2}));
}

}  // namespace
}  // namespace pippin::mil
