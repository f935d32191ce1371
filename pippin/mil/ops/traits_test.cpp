// The table's statements about an op, tested against its value rule.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "pippin/mil/ops/product.h"
#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

// Different numbers, all within the domain of every function (0, 1).
Tensor some(std::vector<int64_t> shape, double first = 0.125) {
  Tensor tensor(DataType::Float32, std::move(shape));
  for (double& value : tensor.values) value = first, first += 0x1p-6;  // exact in every type
  return tensor;
}

bool takes(const Parameter& parameter, char letter) {
  return parameter.types.find(letter) != std::string_view::npos;
}

// An argument that the parameter accepts: tensors [2, 3], numbers, and values for these names.
Tensor sample(const OpDef& op, const Parameter& parameter) {
  static const std::map<std::string_view, Tensor> named = {
      {"dtype", text("fp16")},
      {"shape", ints({3, 2})},
      {"axes", ints({0})},
      {"perm", ints({1, 0})},
      {"lengths", ints({2, 3})},
      {"seq_axis", integer(1)},
      {"alpha", some({})},
      {"beta", some({}, 0.5)},
      {"begins", integer(0)},
      {"ends", integer(2)},
      {"end_masks", Tensor::scalar(DataType::Bool, 0)},
      {"begin", ints({1, 1})},
      {"end", ints({2, 3})},
      {"size", ints({1, 2})},
      {"indices", ints({1, 1}, {1})},
      {"ref_tensors", some({6, 1})}};
  if (op.name == "squeeze" && parameter.name == "x") return some({1, 2, 3});
  if (op.name == "gather_along_axis" && parameter.name == "indices") return ints({1, 3}, {1, 1, 1});
  if (op.name == "reshape_like" && parameter.name == "ends") return integer(1);
  const auto found = named.find(parameter.name);
  if (found != named.end() && (parameter.name != "shape" || takes(parameter, 'i')))
    return found->second;
  if (takes(parameter, 'f'))
    return some({2, 3}, 0.125 + 0.125 * static_cast<double>(&parameter - op.parameters.data()));
  Tensor tensor(takes(parameter, 'i') ? DataType::Int32 : DataType::Bool, {2, 3});
  for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = static_cast<double>(i % 2);
  return tensor;
}

Arguments sample_arguments(const OpDef& op) {
  Arguments arguments;
  for (const Parameter& parameter : op.parameters) {
    const bool needed = !parameter.optional || parameter.name == "seq_axis" ||
                        (op.name == "squeeze" && parameter.name == "axes");
    if (needed) arguments.emplace_back(parameter.name, std::vector{sample(op, parameter)});
  }
  return arguments;
}

Tensor& argument(Arguments& arguments, std::string_view name) {
  return std::find_if(arguments.begin(), arguments.end(),
                      [&](const auto& each) { return each.first == name; })
      ->second.front();
}

Tensor run(const OpDef& op, const Arguments& arguments) {
  return run_one(std::string(op.name), arguments, std::max(op.since, Opset::CoreML7));
}

template <typename Check>
int for_ops_with(Trait trait, Check&& check) {
  int count = 0;
  for (const OpDef& op : op_table()) {
    if (!op.traits.has(trait)) continue;
    SCOPED_TRACE(op.name);
    ++count;
    check(op);
  }
  return count;
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST(Traits, AreTheSameInAllEntriesOfAnOp) {
  for (const OpDef& op : op_table()) {
    SCOPED_TRACE(op.name);
    const OpDef& newest = *find_op(op.name);
    EXPECT_EQ(op.traits, newest.traits);
    EXPECT_EQ(op.product, newest.product);
    EXPECT_EQ(op.moves, newest.moves);
    EXPECT_LE(op.since, newest.since);
  }
  EXPECT_EQ(find_op("no_such_op"), nullptr);
  EXPECT_FALSE(is_constant(Operation("no_such_op")));
  EXPECT_FALSE(is_product(Operation("no_such_op")));
}

TEST(Traits, ConstantsTakeConstantsOnly) {
  for (const OpDef& op : op_table()) {
    SCOPED_TRACE(op.name);
    const bool constants = std::all_of(
        op.parameters.begin(), op.parameters.end(),
        [](const Parameter& parameter) { return parameter.kind == Parameter::Kind::Constant; });
    EXPECT_EQ(op.traits.has(Trait::Constant), constants);
    EXPECT_EQ(op.traits.has(Trait::Compressed), constants && !op.parameters.empty());
    EXPECT_TRUE(!constants || op.pure);
  }
}

// Every element once; views also keep the order.
TEST(Traits, PermutationsKeepEveryElement) {
  EXPECT_GT(for_ops_with(Trait::Permutes,
                         [](const OpDef& op) {
                           ASSERT_FALSE(op.moves.empty());
                           Arguments arguments = sample_arguments(op);
                           const Tensor x = argument(arguments, op.moves), y = run(op, arguments);
                           EXPECT_EQ(sorted(y.values), sorted(x.values));
                           EXPECT_EQ(y.values == x.values, op.traits.has(Trait::View));
                         }),
            6);
  for_ops_with(Trait::View, [](const OpDef& op) { EXPECT_TRUE(op.traits.has(Trait::Permutes)); });
}

// The converse: an op that only moves elements and drops or repeats some does not claim Permutes.
TEST(Traits, MovesThatLoseElementsAreNoPermutations) {
  for (const OpDef& op : op_table()) {
    if (op.moves != "x" || op.traits.has(Trait::Permutes)) continue;
    SCOPED_TRACE(op.name);
    const std::set<std::string_view> with_sizes = {"sliding_windows", "split", "tile"};
    EXPECT_TRUE(op.traits.has(Trait::ReadsParts) || with_sizes.contains(op.name));
  }
}

TEST(Traits, ConversionsKeepShapeAndOrder) {
  EXPECT_GT(for_ops_with(Trait::Converts,
                         [](const OpDef& op) {
                           Arguments arguments = sample_arguments(op);
                           const Tensor x = argument(arguments, "x"), y = run(op, arguments);
                           EXPECT_EQ(y.shape, x.shape);
                           for (size_t i = 0; i < x.values.size(); ++i)
                             EXPECT_NEAR(y.values[i], x.values[i], 1e-3);
                         }),
            1);
}

// Inputs broadcast, and an element of an input affects only the result at its position.
TEST(Traits, ElementwiseOpsWorkOnElements) {
  EXPECT_GT(for_ops_with(Trait::Elementwise,
                         [](const OpDef& op) {
                           const Arguments arguments = sample_arguments(op);
                           const Tensor y = run(op, arguments);
                           EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 3}));
                           for (size_t input = 0; input < arguments.size(); ++input) {
                             if (op.parameters[input].kind != Parameter::Kind::Tensor) continue;
                             Arguments others = arguments;
                             Tensor& changed = others[input].second.front();
                             changed.values[4] =
                                 changed.type == DataType::Float32 ? 0.9375 : 1 - changed.values[4];
                             const Tensor after = run(op, others);
                             for (size_t i = 0; i < y.values.size(); ++i) {
                               if (i == 4) continue;
                               EXPECT_EQ(after.values[i], y.values[i]) << input << " " << i;
                             }
                             // One row for all.
                             Tensor& row = others[input].second.front();
                             row.shape = {1, 3};
                             row.values.resize(3);
                             if (arguments.size() > 1 &&
                                 op.parameters[1].kind == Parameter::Kind::Tensor) {
                               EXPECT_EQ(run(op, others).shape, y.shape);
                             } else {
                               EXPECT_EQ(run(op, others).shape, row.shape);
                             }
                           }
                         }),
            50);
}

TEST(Traits, ReadersOfPartsLeaveElementsAlone) {
  EXPECT_GT(for_ops_with(Trait::ReadsParts,
                         [](const OpDef& op) {
                           Arguments arguments = sample_arguments(op);
                           const Tensor before = run(op, arguments);
                           argument(arguments, "x").values[0] = 1e6;
                           EXPECT_EQ(run(op, arguments).values, before.values);
                         }),
            5);
}

// Same result twice, for ops that are not control flow and take no lists.
TEST(Traits, PureOpsAreDeterministic) {
  for (const OpDef& op : op_table()) {
    if (!op.traits.has(Trait::Elementwise) && !op.traits.has(Trait::Permutes) &&
        !op.traits.has(Trait::ReadsParts))
      continue;
    SCOPED_TRACE(op.name);
    EXPECT_TRUE(op.pure);
    const Arguments arguments = sample_arguments(op);
    EXPECT_EQ(run(op, arguments).values, run(op, arguments).values);
  }
}

// An operation on operands of these shapes.
struct Sides {
  std::vector<int64_t> x, weight;
};

std::optional<Product> product(Operation& operation, const OpDef& op, const Sides& sides) {
  const bool tuple = op.parameters[0].kind == Parameter::Kind::Tuple;
  const auto bind = [&](size_t parameter, const std::vector<int64_t>& shape, double first) {
    operation.inputs()[std::string(op.parameters[tuple ? 0 : parameter].name)].push_back(
        to_value(some(shape, first)));
  };
  bind(0, sides.x, 0.125);
  bind(1, sides.weight, 0.5);
  return product_of(operation);
}

// Tests the roles of a product's axes against the value rule: setting a slice of an operand to zero
// along one of its own axes zeroes exactly that slice of the result, and so does a slice along a
// batch axis. Along a summed axis the effect is the same as zeroing that slice of the other
// operand.
void expect_roles(const std::string& type, const Sides& sides,
                  std::vector<std::pair<std::string, Tensor>> parameters = {}) {
  SCOPED_TRACE(type);
  const OpDef& op = *find_op(type);
  Operation operation(type);
  for (const auto& [name, value] : parameters) operation.inputs()[name].push_back(to_value(value));
  const auto parsed = product(operation, op, sides);
  ASSERT_TRUE(parsed);
  const bool tuple = op.parameters[0].kind == Parameter::Kind::Tuple;
  const auto result = [&](const Tensor& x, const Tensor& weight) {
    Arguments arguments;
    if (tuple) {
      arguments = {{std::string(op.parameters[0].name), {x, weight}}};
    } else {
      arguments = {{std::string(op.parameters[0].name), {x}},
                   {std::string(op.parameters[1].name), {weight}}};
    }
    for (const auto& [name, value] : parameters) arguments.push_back({name, {value}});
    return run_one(type, arguments);
  };
  const auto zeroed = [](Tensor tensor, int64_t axis) {
    int64_t inner = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < tensor.shape.size(); ++i)
      inner *= tensor.shape[i];
    const int64_t size = tensor.shape[static_cast<size_t>(axis)];
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (i / inner % size == 1) tensor.values[static_cast<size_t>(i)] = 0;
    }
    return tensor;
  };
  const Tensor operands[] = {some(sides.x), some(sides.weight, 0.5)};
  const Tensor whole = result(operands[0], operands[1]);
  const auto with = [&](size_t index, const Tensor& changed) {
    return index == 0 ? result(changed, operands[1]) : result(operands[0], changed);
  };
  const Product::Operand &x = parsed->operands[0], &weight = parsed->operands[1];
  for (size_t i = 0; i < 2; ++i) {
    const Product::Operand& operand = parsed->operands[i];
    EXPECT_EQ(
        operand.batch.size() + operand.own.size() + operand.summed.size() + operand.others.size(),
        operands[i].shape.size());
    ASSERT_EQ(operand.own.size(), parsed->own[i].size());
    for (size_t axis = 0; axis < operand.own.size(); ++axis) {
      EXPECT_EQ(with(i, zeroed(operands[i], operand.own[axis])).values,
                zeroed(whole, parsed->own[i][axis]).values)
          << "operand " << i << ", own axis " << operand.own[axis];
    }
    // A shorter batch corresponds to the last axes of the result's.
    for (size_t axis = 0; axis < operand.batch.size(); ++axis) {
      const int64_t of_result = parsed->batch[parsed->batch.size() - operand.batch.size() + axis];
      EXPECT_EQ(with(i, zeroed(operands[i], operand.batch[axis])).values,
                zeroed(whole, of_result).values)
          << "operand " << i << ", batch axis " << operand.batch[axis];
    }
  }
  ASSERT_EQ(x.summed.size(), weight.summed.size());
  for (size_t axis = 0; axis < x.summed.size(); ++axis) {
    EXPECT_EQ(with(0, zeroed(operands[0], x.summed[axis])).values,
              with(1, zeroed(operands[1], weight.summed[axis])).values);
  }
}

TEST(Products, AxesAreWhatTheValueRuleDoes) {
  expect_roles("linear", {{2, 3, 4}, {5, 4}});
  expect_roles("linear", {{4}, {5, 4}});
  for (const bool x : {false, true}) {
    for (const bool y : {false, true}) {
      SCOPED_TRACE(std::to_string(x) + std::to_string(y));
      expect_roles("matmul",
                   {x ? std::vector<int64_t>{2, 4, 3} : std::vector<int64_t>{2, 3, 4},
                    y ? std::vector<int64_t>{2, 5, 4} : std::vector<int64_t>{2, 4, 5}},
                   {{"transpose_x", flag(x)}, {"transpose_y", flag(y)}});
    }
  }
  expect_roles("matmul", {{2, 3, 3, 4}, {3, 4, 5}});
  expect_roles("matmul", {{4}, {2, 4, 5}});
  expect_roles("matmul", {{2, 3, 4}, {4}});
  expect_roles("einsum", {{2, 3, 4, 5}, {2, 5, 4, 6}}, {{"equation", text("nchw,nwhu->nchu")}});
  expect_roles("einsum", {{3, 2, 4}, {4, 2, 5}}, {{"equation", text("abc,cbd->dba")}});
  expect_roles("einsum", {{3, 2, 4}, {2, 4}}, {{"equation", text("xyz,yz->x")}});
  expect_roles("conv", {{2, 3, 6}, {4, 3, 2}});
  expect_roles("conv", {{2, 3, 4, 4}, {4, 3, 1, 2}});
  expect_roles("conv_transpose", {{2, 3, 4}, {3, 5, 2}});
}

TEST(Products, OfMatrices) {
  const auto of_matrices = [](const char* type, const Sides& sides,
                              const char* equation = nullptr) {
    Operation operation(type);
    if (equation != nullptr) operation.inputs()["equation"].push_back(to_value(text(equation)));
    const auto parsed = product(operation, *find_op(type), sides);
    return parsed && parsed->is_of_matrices();
  };
  EXPECT_TRUE(of_matrices("matmul", {{2, 3, 4}, {2, 4, 5}}));
  EXPECT_FALSE(of_matrices("matmul", {{2, 3, 4}, {4, 5}}));
  EXPECT_FALSE(of_matrices("matmul", {{4}, {4, 5}}));
  EXPECT_TRUE(of_matrices("linear", {{3, 4}, {5, 4}}));
  EXPECT_FALSE(of_matrices("linear", {{2, 3, 4}, {5, 4}}));
  EXPECT_FALSE(of_matrices("conv", {{1, 3, 4}, {5, 3, 1}}));
  EXPECT_TRUE(of_matrices("einsum", {{2, 3, 4}, {2, 5, 4}}, "bij,bkj->ibk"));
  EXPECT_FALSE(of_matrices("einsum", {{3, 4}, {5, 3}}, "ik,jl->ij"));     // each summed separately
  EXPECT_FALSE(of_matrices("einsum", {{2, 2, 4}, {2, 4}}, "iij,ij->i"));  // a diagonal
  EXPECT_FALSE(of_matrices("einsum", {{3, 4}, {3, 4}}, "ij,ij->"));
  EXPECT_FALSE(of_matrices("einsum", {{3, 4}, {3, 4}}, "ijk,jk->i"));  // ranks do not match
}

// Operations that the verifier rejects are not products.
TEST(Products, WithoutAnOperandAreNone) {
  for (const OpDef& op : op_table()) {
    if (op.product == nullptr) continue;
    EXPECT_FALSE(product_of(Operation(std::string(op.name)))) << op.name;
  }
  EXPECT_FALSE(product_of(Operation("add")));
}

}  // namespace
}  // namespace pippin::mil
