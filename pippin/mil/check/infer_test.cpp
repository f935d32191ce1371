#include "pippin/mil/check/infer.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

// A function of one block and its inferred values.
struct Inferred {
  Program program;
  Inference inference;

  Inferred(const std::string& signature, const std::string& body, const std::string& output,
           const std::map<std::string, Shape>& shapes)
      : program(
            parse_text(fmt::format("program(1.3)\n{{\nfunc main<ios18>({}) {{\n{}}} -> ({});\n}}\n",
                                   signature, body, output),
                       "test")) {
    inference = infer(program.function("main"), shapes);
  }
  const ValueInfo& output() const {
    return inference.of(program.function("main").block().outputs()[0]);
  }
};

const Dim& q() {
  static const Dim dim = Dim::symbol("q", 1, 64);
  return dim;
}

TEST(Infer, RepeatedHeadsResolve) {
  // The operations that a conversion of `expand` writes: shape, gather, concat, equal, select,
  // real_div, tile.
  const Inferred result("tensor<fp16, [1, 2, ?, 8]> x", R"(
    tensor<fp16, [1, 2, 1, ?, 8]> e = expand_dims(axes = tensor<int32, [1]>([2]), x = x)[name = string("e")];
    tensor<int32, [5]> s = shape(x = e)[name = string("s")];
    tensor<int16, [5]> s16 = cast(x = s, dtype = string("int16"))[name = string("s16")];
    tensor<int16, []> g = gather(x = s16, indices = int32(3), axis = int32(0))[name = string("g")];
    tensor<int32, []> length = cast(x = g, dtype = string("int32"))[name = string("l")];
    tensor<int32, [5]> wanted = concat(values = (int32(1), int32(2), int32(4), length, int32(-1)), axis = int32(0))[name = string("w")];
    tensor<bool, [5]> any = equal(x = wanted, y = int32(-1))[name = string("q")];
    tensor<int32, [5]> to = select(cond = any, a = s, b = wanted)[name = string("t")];
    tensor<int32, [5]> reps = real_div(x = to, y = s)[name = string("r")];
    tensor<fp16, [1, 2, 4, ?, 8]> y = tile(x = e, reps = reps)[name = string("y")];
    tensor<fp16, [1, 8, ?, 8]> z = reshape(x = y, shape = tensor<int32, [4]>([1, 8, -1, 8]))[name = string("z")];
)",
                        "z", {{"x", {1, 2, q(), 8}}});
  EXPECT_EQ(result.output().shape, (Shape{1, 8, q(), 8}));
  EXPECT_TRUE(result.inference.constraints.empty());
}

// Older windowed packages by Pippin contain this. They still run, though coremltools infers a
// scalar.
TEST(Infer, SelectOfScalarsHasTheShapeOfItsCondition) {
  const Inferred result("tensor<bool, [?, 8]> hidden", R"(
    tensor<fp16, [?, 8]> y = select(cond = hidden, a = fp16(-inf), b = fp16(0))[name = string("y")];
)",
                        "y", {{"hidden", {q(), 8}}});
  EXPECT_EQ(result.output().shape, (Shape{q(), 8}));
}

TEST(Infer, DeclaredRankTellsWhatIsSqueezed) {
  const auto shape = [](const std::string& type) {
    const Inferred result("tensor<fp16, [?, 1, 4]> x",
                          type +
                              " y = squeeze(x = x, axes = tensor<int32, [2]>([0, 1]))[name = "
                              "string(\"y\")];\n",
                          "y", {{"x", {q(), 1, 4}}});
    EXPECT_EQ(result.inference.constraints.size(), 1u);
    return result.output().shape;
  };
  EXPECT_EQ(shape("tensor<fp16, [4]>"), (Shape{4}));
  EXPECT_EQ(shape("tensor<fp16, [?, 4]>"), (Shape{q(), 4}));
}

TEST(Infer, CacheSlicesMeetTheMask) {
  const Dim end = Dim::symbol("end", 1, 128);
  const Inferred result(
      "tensor<fp16, [1, 1, ?, ?]> mask, tensor<fp16, [1, 2, 128, 8]> cache, tensor<fp16, [1, 2, ?, "
      "8]> x",
      R"(
    tensor<int32, [4]> s = shape(x = mask)[name = string("s")];
    tensor<int32, [1]> e = slice_by_index(x = s, begin = tensor<int32, [1]>([3]), end = tensor<int32, [1]>([4]))[name = string("e")];
    tensor<int32, [1]> n = slice_by_index(x = s, begin = tensor<int32, [1]>([-2]), end = tensor<int32, [1]>([-1]))[name = string("n")];
    tensor<int32, [1]> b = sub(x = e, y = n)[name = string("b")];
    tensor<int32, [4]> begin = concat(values = (int32(0), int32(0), b, int32(0)), axis = int32(0))[name = string("bb")];
    tensor<int32, [4]> stop = concat(values = (int32(0), int32(0), e, int32(0)), axis = int32(0))[name = string("ee")];
    tensor<bool, [4]> masks = const()[name = string("masks"), val = tensor<bool, [4]>([true, true, false, true])];
    tensor<fp16, [1, 2, 128, 8]> u = slice_update(x = cache, update = x, begin = begin, end = stop, begin_mask = masks, end_mask = masks)[name = string("u")];
    tensor<fp16, [1, 2, ?, 8]> k = slice_by_index(x = u, begin = tensor<int32, [4]>([0, 0, 0, 0]), end = stop, end_mask = masks)[name = string("k")];
)",
      "k", {{"mask", {1, 1, q(), end}}, {"x", {1, 2, q(), 8}}});
  EXPECT_EQ(result.output().shape, (Shape{1, 2, end, 8}));
  // Whether the new tokens exceed all tokens is checked by the run.
  ASSERT_EQ(result.inference.constraints.size(), 1u);
  EXPECT_EQ(result.inference.constraints[0].kind, Constraint::Kind::AtLeast);
}

TEST(Infer, BroadcastAssumesEquality) {
  const Dim r = Dim::symbol("r", 2, 64);
  const Inferred result("tensor<fp32, [?]> x, tensor<fp32, [?]> y",
                        "tensor<fp32, [?]> z = add(x = x, y = y)[name = string(\"sum\")];\n", "z",
                        {{"x", {q()}}, {"y", {r}}});
  ASSERT_EQ(result.inference.constraints.size(), 1u);
  EXPECT_EQ(result.inference.constraints[0].kind, Constraint::Kind::Equal);
  EXPECT_EQ(result.inference.constraints[0].what.find("add 'sum': "), 0u);
}

TEST(Infer, RefusesWhatDeclaredTypesContradict) {
  const auto code_of = [](const std::string& type) {
    try {
      Inferred("tensor<fp32, [2]> x", type + " y = exp(x = x)[name = string(\"y\")];\n", "y", {});
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("exp 'y'"), std::string::npos) << error.what();
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code_of("tensor<fp16, [2]>"), ErrorCode::InvalidFile);
  EXPECT_EQ(code_of("tensor<fp32, [3]>"), ErrorCode::InvalidFile);
  EXPECT_EQ(code_of("tensor<fp32, [2, 1]>"), ErrorCode::InvalidFile);
  Inferred("tensor<fp32, [2]> x", "tensor<fp32, [?]> y = exp(x = x)[name = string(\"y\")];\n", "y",
           {});
}

TEST(Infer, NamesOpsThatTheTableLacks) {
  try {
    Inferred("tensor<fp32, [2]> x",
             "tensor<fp32, [2]> y = frobnicate(x = x)[name = string(\"f\")];\n", "y", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_NE(std::string(error.what()).find("frobnicate 'f'"), std::string::npos);
  }
}

TEST(Infer, InputsMustFit) {
  const auto code_of = [](const std::map<std::string, Shape>& shapes) {
    try {
      Inferred("tensor<fp32, [2, ?]> x",
               "tensor<fp32, [2, ?]> y = exp(x = x)[name = string(\"y\")];\n", "y", shapes);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code_of({}), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of({{"x", {3, 1}}}), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of({{"x", {2}}}), ErrorCode::InvalidArgument);
}

TEST(Infer, DataDependentSizes) {
  const Inferred result("tensor<fp32, [4]> x, tensor<int32, [1]> p", R"(
    tensor<fp32, [?]> a = slice_by_index(x = x, begin = tensor<int32, [1]>([0]), end = p)[name = string("a")];
    tensor<fp32, [?]> y = exp(x = a)[name = string("y")];
)",
                        "y", {});
  const Dim& size = result.output().shape.at(0);
  EXPECT_FALSE(size.is_constant());
  EXPECT_EQ(size.lower(), 0);
  EXPECT_EQ(size.upper(), 4);
}

TEST(Infer, WhileLoopsWithGrowingValues) {
  const Inferred result("tensor<fp32, [1, 4]> x, tensor<int32, []> n", R"(
    tensor<int32, []> i_0, tensor<fp32, [?, 4]> all = while_loop(loop_vars = (n, x))[name = string("w")]
      (tensor<int32, []> i_1, tensor<fp32, [?, 4]> a_1) {
        tensor<bool, []> go = greater(x = i_1, y = int32(0))[name = string("go")];
      } -> (go)
      (tensor<int32, []> i_2, tensor<fp32, [?, 4]> a_2) {
        tensor<int32, []> less = sub(x = i_2, y = int32(1))[name = string("less")];
        tensor<fp32, [?, 4]> more = concat(values = (a_2, x), axis = int32(0))[name = string("more")];
      } -> (less, more);
)",
                        "all", {});
  EXPECT_FALSE(result.output().shape.at(0).is_constant());
  EXPECT_EQ(result.output().shape.at(1), Dim(4));
}

TEST(Table, EntriesAreWhole) {
  for (const OpDef& def : op_table()) {
    EXPECT_FALSE(def.doc.empty()) << def.name;
    EXPECT_TRUE(def.doc.ends_with(".")) << def.name;
    EXPECT_NE(def.infer, nullptr) << def.name;
    EXPECT_NE(def.evaluate, nullptr) << def.name;
    const auto named = [&](std::string_view name) {
      return std::any_of(def.parameters.begin(), def.parameters.end(),
                         [&](const Parameter& parameter) { return parameter.name == name; });
    };
    EXPECT_TRUE(def.moves.empty() || named(def.moves)) << def.name;
  }
  EXPECT_EQ(find_op("slice_update", Opset::CoreML7), nullptr);
  EXPECT_EQ(find_op("gather", Opset::CoreML9)->since, Opset::CoreML7);
  EXPECT_EQ(find_op("nothing", Opset::CoreML9), nullptr);
}

}  // namespace
}  // namespace pippin::mil
