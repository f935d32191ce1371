#include "pippin/array/array.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/error_testing.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/text/text.h"

namespace pippin::array {
namespace {

using mil::DataType;
using mil::Dim;

std::string text_of(const Builder& builder) {
  mil::Program program;
  program.functions.emplace("main", builder.build());
  mil::verify(program);
  return mil::print(program);
}

// Returns the operations other than const, one per line, without attributes.
std::string body_of(const Builder& builder) {
  std::string body;
  const auto function = builder.build();
  for (const auto& operation : function->block().operations()) {
    if (operation->type() == "const") continue;
    body += operation->type();
    for (const auto& output : operation->outputs()) body += " " + output->name;
    body += "\n";
  }
  return body;
}

TEST(Array, KnowsTypeAndSymbolicShapeAtOnce) {
  Builder builder;
  const Dim q = Dim::symbol("q", 1, 64);
  const Array x = builder.input("x", DataType::Float16, {1, q, 512});
  const Array heads = transpose(reshape(x, {1, q, 8, 64}), {0, 2, 1, 3});
  EXPECT_EQ(heads.type(), DataType::Float16);
  EXPECT_EQ(mil::to_string(heads.shape()), "[1, 8, q, 64]");
  EXPECT_EQ(heads.dim(-2), q);
  EXPECT_EQ(reduce_mean(x, {-1}, true).shape(), (mil::Shape{1, q, 1}));
}

TEST(Array, ErrorsNameTheOperationWhereItIsRecorded) {
  Builder builder;
  const Array x = builder.input("x", DataType::Float16, {2, 3});
  const Array y = builder.input("y", DataType::Float16, {2, 4});
  const Scope scope("model.layers.3.mlp");
  const std::string message = thrown_message([&] { add(x, y); });
  EXPECT_THAT(message, testing::HasSubstr("add 'model_layers_3_mlp_add'"));
  EXPECT_THAT(message, testing::HasSubstr("3"));
  EXPECT_THAT(thrown_message([&] { reshape(x, {5, 1}); }), testing::HasSubstr("reshape"));
  EXPECT_THAT(thrown_message([&] {
                record_one("no_such_op", {{"x", x}});
              }),
              testing::HasSubstr("no_such_op"));
  EXPECT_THAT(thrown_message([&] { x.dim(2); }), testing::HasSubstr("[2, 3]"));
}

TEST(Array, SpellsAFunction) {
  Builder builder;
  const Array x = builder.input("x", DataType::Float16, {1, 4});
  {
    const Scope scope("mlp.act");
    const Array active = silu(x) * 2.0;
    builder.output("y", softmax(active + x * 2.0));
  }
  EXPECT_EQ(text_of(builder), R"(program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4]> x) {
            tensor<fp16, [1, 4]> mlp_act_silu = silu(x = x)[name = string("mlp_act_silu")];
            fp16 mlp_act_mul_y_0 = const()[name = string("mlp_act_mul_y_0"), val = fp16(0x1p+1)];
            tensor<fp16, [1, 4]> mlp_act_mul = mul(x = mlp_act_silu, y = mlp_act_mul_y_0)[name = string("mlp_act_mul")];
            tensor<fp16, [1, 4]> mlp_act_mul_1 = mul(x = x, y = mlp_act_mul_y_0)[name = string("mlp_act_mul_1")];
            tensor<fp16, [1, 4]> mlp_act_add = add(x = mlp_act_mul, y = mlp_act_mul_1)[name = string("mlp_act_add")];
            int32 int32_minus_1 = const()[name = string("int32_minus_1"), val = int32(-1)];
            tensor<fp16, [1, 4]> y = softmax(axis = int32_minus_1, x = mlp_act_add)[name = string("y")];
        } -> (y);
}
)");
}

TEST(Builder, KeepsOnlyWhatOutputsNeed) {
  Builder builder;
  const Array x = builder.input("x", DataType::Float32, {4});
  const Array unused = exp(x);
  builder.output("y", relu(x));
  EXPECT_EQ(body_of(builder), "relu y\n");
}

TEST(Builder, InputsConstantsAndRepeatedOutputsGetAnIdentity) {
  Builder builder;
  const Array x = builder.input("x", DataType::Float32, {4});
  const Array y = relu(x);
  builder.output("a", y);
  builder.output("b", y);
  builder.output("c", x);
  builder.output("d", constant(DataType::Float32, 1.0));
  EXPECT_EQ(text_of(builder), R"(program(1.3)
{
    func main<ios18>(tensor<fp32, [4]> x) {
            tensor<fp32, [4]> a = relu(x = x)[name = string("a")];
            tensor<fp32, [4]> b = identity(x = a)[name = string("b")];
            tensor<fp32, [4]> c = identity(x = x)[name = string("c")];
            fp32 const = const()[name = string("const"), val = fp32(0x1p+0)];
            fp32 d = identity(x = const)[name = string("d")];
        } -> (a, b, c, d);
}
)");
}

TEST(Builder, StatesKeepTheOrderOfEffects) {
  Builder builder;
  const Array x = builder.input("x", DataType::Float16, {2});
  const State state = builder.state("s", DataType::Float16, {2});
  const Array before = read_state(state);
  write_state(state, before + x);
  const Array after = read_state(state);
  write_state(state, after + x);
  read_state(state);  // unused
  builder.output("y", after - before);
  EXPECT_EQ(text_of(builder), R"(program(1.3)
{
    func main<ios18>(tensor<fp16, [2]> x, state<tensor<fp16, [2]>> s) {
            tensor<fp16, [2]> read_state = read_state(input = s)[name = string("read_state")];
            tensor<fp16, [2]> add = add(x = read_state, y = x)[name = string("add")];
            write_state(data = add, input = s)[name = string("write_state")];
            tensor<fp16, [2]> read_state_1 = read_state(input = s)[name = string("read_state_1")];
            tensor<fp16, [2]> add_1 = add(x = read_state_1, y = x)[name = string("add_1")];
            write_state(data = add_1, input = s)[name = string("write_state_1")];
            tensor<fp16, [2]> y = sub(x = read_state_1, y = read_state)[name = string("y")];
        } -> (y);
}
)");
}

TEST(Builder, ADimensionBecomesShapeArithmetic) {
  Builder builder;
  const Dim q = Dim::symbol("q", 1, 16), end = Dim::symbol("end", 1, 16);
  const Array ids = builder.input("ids", DataType::Int32, {1, q});
  const Array mask = builder.input("mask", DataType::Float16, {1, 1, q, end});
  const std::vector<double> values(16 * 2, 1.0);
  const Array table = constant(DataType::Float16, {16, 2}, values, "table");
  const Array rows = slice_axis(table, 0, end - q, end);
  EXPECT_EQ(rows.shape(), (mil::Shape{q, 2}));
  const Array again = slice_axis(table, 0, end - q, end);
  builder.output("a", rows);
  builder.output("b", reduce_sum(again, {0}));
  // Each size is computed once.
  EXPECT_EQ(body_of(builder),
            "shape mask_shape\ngather end\nshape ids_shape\ngather q\nsub sub\n"
            "expand_dims sub_1d\nconcat dims\nexpand_dims end_1d\nconcat dims_1\n"
            "slice_by_index a\nslice_by_index slice_by_index\nreduce_sum b\n");
  // Inference of the whole function agrees, and leaves past >= 0 to the run.
  const auto function = builder.build();
  const auto inference = mil::infer(*function, {{"ids", {1, q}}, {"mask", {1, 1, q, end}}});
  EXPECT_EQ(inference.of(function->block().outputs()[0]).shape, (mil::Shape{q, 2}));
  std::set<std::string> constraints;
  for (const mil::Constraint& one : inference.constraints) {
    const bool equal = one.kind == mil::Constraint::Kind::Equal;
    constraints.insert(one.a.to_string() + (equal ? " == " : " >= ") + one.b.to_string());
  }
  EXPECT_EQ(constraints, std::set<std::string>{"-q + end >= 0"});
}

TEST(Builder, ProductsQuotientsAndBoundsOfDimensions) {
  Builder builder;
  const Dim q = Dim::symbol("q", 1, 16), r = Dim::symbol("r", 1, 16);
  const Array x = builder.input("x", DataType::Float16, {q, r});
  const Array value = builder.dim_array(floor_div(q * r + 3, Dim(4)) + minimum(q, r) - mod(r, q));
  EXPECT_EQ(value.rank(), 0);
  // Two symbolic sizes are computed; a single one is -1.
  const Array y = reshape(reshape(x, {1, q, r}), {q * r});
  EXPECT_EQ(y.shape(), (mil::Shape{q * r}));
  builder.output("y", y);
  builder.output("n", value);
  const auto function = builder.build();
  const auto number = [&](int64_t rows, int64_t columns) {
    const auto inference = mil::infer(*function, {{"x", {rows, columns}}});
    return inference.of(function->block().outputs()[1]).elements;
  };
  EXPECT_EQ(number(5, 3), std::vector<Dim>{(5 * 3 + 3) / 4 + 3 - 3 % 5});
  EXPECT_EQ(number(3, 5), std::vector<Dim>{(3 * 5 + 3) / 4 + 3 - 5 % 3});
  EXPECT_THAT(thrown_message([&] { builder.dim_array(Dim::symbol("lost", 1, 2)); }),
              testing::HasSubstr("'lost'"));
}

TEST(Builder, RefusesInputsOfAnother) {
  Builder first;
  const Array x = first.input("x", DataType::Float16, {2});
  Builder second;
  second.output("y", relu(x));
  EXPECT_THAT(thrown_message([&] { second.build(); }), testing::HasSubstr("'x'"));
}

TEST(Builder, RefusesEqualNames) {
  Builder builder;
  const Array x = builder.input("x", DataType::Float16, {2});
  builder.output("x", relu(x));
  EXPECT_THAT(thrown_message([&] { builder.build(); }), testing::HasSubstr("'x'"));
}

TEST(Array, SlicesUpdatesAndSplits) {
  Builder builder;
  const Array x = builder.input("x", DataType::Float16, {3, 4, 5});
  EXPECT_EQ(slice(x, {Index::at(1), Index::all(), Index::range(1, 3)}).shape(), (mil::Shape{4, 2}));
  const Array rows = builder.input("rows", DataType::Float16, {4, 2});
  EXPECT_EQ(slice_update(x, rows, {Index::at(1), Index::all(), Index::range(1, 3)}).shape(),
            x.shape());
  const auto parts = split(x, {1, 3}, 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].shape(), (mil::Shape{3, 3, 5}));
  EXPECT_THAT(thrown_message([&] {
                slice(rows, {Index::all(), Index::all(), Index::all()});
              }),
              testing::HasSubstr("3 indices"));
  builder.output("a", parts[0]);
  EXPECT_EQ(body_of(builder), "split a split_1\n");
}

// Returns the types of an operation's float parameters, by name.
std::string float_types(const Builder& builder, std::string_view type) {
  std::string types;
  const auto function = builder.build();
  for (const auto& operation : function->block().operations()) {
    if (operation->type() != type) continue;
    for (const char* parameter : {"beta", "epsilon", "gamma"}) {
      const mil::Value* value = operation->constant_input(parameter);
      if (value == nullptr) continue;
      types += fmt::format("{} {} ", parameter, mil::to_string(value->type.data_type));
      if (std::string_view(parameter) == "epsilon") {
        EXPECT_GT(value->to_doubles().front(), 0);
      }
    }
  }
  return types;
}

TEST(Array, EpsilonsThatHalvesCannotHoldAreKept) {
  for (const auto& [epsilon, wanted] : {std::pair(1e-5, "beta fp16 epsilon fp16 gamma fp16 "),
                                        std::pair(1e-12, "beta fp32 epsilon fp32 gamma fp32 ")}) {
    Builder builder;
    const Array x = builder.input("x", DataType::Float16, {2, 2});
    const std::vector<double> ones = {1, 0.5};
    const Array gamma = constant(DataType::Float16, {2}, ones, "norm.weight");
    const Array beta = constant(DataType::Float16, {2}, ones, "norm.bias");
    builder.output("y", layer_norm(x, {-1}, gamma, beta, epsilon));
    EXPECT_EQ(float_types(builder, "layer_norm"), wanted);
    // Equal constants are merged, and keep the last one's name.
    EXPECT_NE(text_of(builder).find("norm_bias"), std::string::npos) << text_of(builder);
  }
  Builder builder;
  const Array x = builder.input("x", DataType::Float16, {2, 2});
  builder.output("y", rsqrt(x, 1e-12));
  EXPECT_EQ(float_types(builder, "rsqrt"), "epsilon fp32 ");
  Builder plain;
  const Array z = plain.input("x", DataType::Float16, {2, 2});
  plain.output("y", rsqrt(z, 1e-5));
  EXPECT_EQ(body_of(plain), "add add\nrsqrt y\n");
}

}  // namespace
}  // namespace pippin::array
