// Packages with several sizes, compared with the functions that they were recorded from.
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/mx/export/export_testing.h"
#include "pippin/mx/nn/nn.h"

namespace pippin::mx {
namespace {

using Arrays = std::vector<array>;
using Body = std::function<Arrays(const Arrays&)>;

ExportedFunction function_of(const std::vector<ExportedInput>& inputs, const Body& body) {
  ExportedFunction function;
  function.inputs = inputs;
  function.body = [body](const ExportedArrays& given) {
    ExportedResults results;
    for (const array& output : body(given.inputs)) {
      results.outputs.emplace_back("out" + std::to_string(results.outputs.size()), output);
    }
    return results;
  };
  return function;
}

ExportedSize n(int64_t lower = 1, int64_t upper = 64) {
  return {lower, upper, "n"};
}

// Runs the function's package for inputs of several sizes.
void expect_same(const std::vector<ExportedInput>& inputs, const std::vector<Arrays>& values,
                 const Body& body, double tolerance = 1e-4) {
  const mil::Model model = export_model({function_of(inputs, body)});
  keep_for_others(model);
  for (const Arrays& given : values) {
    SCOPED_TRACE(to_string(given[0].shape()));
    expect_results(model, "main", given, body(given), tolerance);
  }
}

std::vector<Arrays> of_lengths(const std::function<Arrays(int64_t)>& make) {
  return {make(1), make(3), make(40)};
}

std::vector<Arrays> rows(Dtype dtype = float32) {
  return of_lengths([dtype](int64_t size) { return Arrays{normal_array({size, 6}, dtype, 5)}; });
}

void expect_rows(const Body& body) {
  expect_same({{"x", float32, {n(), 6}}}, rows(), body);
}

TEST(FlexibleExport, ShapesFollowTheInput) {
  expect_rows([](const Arrays& in) {
    const array& x = in[0];
    const int64_t size = x.shape(0);
    return Arrays{flatten(x),
                  reshape(x, {size, 2, 3}),
                  reshape(x, {2, size, 3}),
                  reshape(transpose(x), {3, -1}),
                  broadcast_to(expand_dims(x, 0), {4, size, 6}),
                  broadcast_to(sum(x, 0), {size, 6}),
                  concatenate({x, x}, 0),
                  stack({x, x}, 1),
                  pad(x, {{2, 1}, {0, 3}}, array(1.5f)),
                  repeat(x, 3, 0),
                  tile(x, {2, 1}),
                  x + zeros({size, 1}),
                  ones({2, size}),
                  full({size, size}, array(2.0f))};
  });
}

TEST(FlexibleExport, SlicesFollowTheInput) {
  expect_rows([](const Arrays& in) {
    const array& x = in[0];
    const int64_t size = x.shape(0);
    return Arrays{slice(x, {size - 1, 0}, {size, 6}),
                  slice(x, {0, 1}, {size, 5}),
                  slice(x, {0, 0}, {size, 6}, {2, 1}),
                  flip(x, std::vector<int>{0}),
                  take(x, -1, 0),
                  slice_update(x, ones({1, 6}), {size - 1, 0}, {size, 6}),
                  slice_update(x, ones({size, 2}), {0, 2}, {size, 4}, {1, 1}),
                  split(x, 3, 1)[1]};
  });
  // At size 1 nothing is rolled.
  expect_same({{"x", float32, {n(2), 6}}},
              {{normal_array({2, 6}, float32, 1)}, {normal_array({9, 6}, float32, 2)}},
              [](const Arrays& in) { return Arrays{roll(in[0], {1}, std::vector<int>{0})}; });
}

TEST(FlexibleExport, RangesAndMasksFollowTheInput) {
  expect_rows([](const Arrays& in) {
    const array& x = in[0];
    const auto size = static_cast<int>(x.shape(0));
    const array places = arange(size);
    return Arrays{places,
                  arange(2, size + 2),
                  arange(0.0, size * 0.5, 0.5, float32),
                  astype(arange(size), float32) / array(size),
                  tril(matmul(x, transpose(x))),
                  nn::MultiHeadAttention::create_additive_causal_mask(size),
                  x * astype(expand_dims(places, 1), float32),
                  mean(x, 0),
                  var(x, std::vector<int>{0}),
                  softmax(x, 0),
                  cumsum(x, 0),
                  argmax(x, 0),
                  sort(x, 0)};
  });
}

TEST(FlexibleExport, AttentionFollowsTheInput) {
  const auto values = of_lengths([](int64_t size) {
    return Arrays{normal_array({1, size, 32}, float32, 1), array({static_cast<int>(size) + 3})};
  });
  expect_same({{"x", float32, {1, n(), 32}}, {"offset", int32, {1}}}, values, [](const Arrays& in) {
    const array q = transpose(unflatten(in[0], -1, {4, 8}), {0, 2, 1, 3});
    const array k = slice(q, {0, 0, 0, 0}, {1, 2, in[0].shape(1), 8});
    Arrays results;
    for (const bool traditional : {false, true}) {
      const array a = fast::rope(q, 6, traditional, 100.0f, 0.5f, in[1]);
      const array b = fast::rope(k, 8, traditional, 100.0f, 1, 4);
      const array mixed = fast::scaled_dot_product_attention(fast::rope(q, 8, false, 100.0f, 1, 0),
                                                             b, k, 0.3f, "causal");
      results.insert(results.end(), {a, b, mixed});
    }
    return results;
  });
}

TEST(FlexibleExport, SeveralSizesAreTheirOwn) {
  std::vector<Arrays> values;
  for (const auto& [a, b] : {std::pair<int64_t, int64_t>{1, 4}, {5, 2}, {9, 30}}) {
    values.push_back({normal_array({a, b}, float32, 1), normal_array({b}, float32, 2)});
  }
  expect_same(
      {{"x", float32, {{1, 16, "rows"}, {1, 32, "columns"}}}, {"y", float32, {{1, 32, "columns"}}}},
      values, [](const Arrays& in) {
        const array& x = in[0];
        return Arrays{flatten(x + in[1]), transpose(x), reshape(x, {x.shape(1), x.shape(0)}),
                      ones({x.shape(0) * x.shape(0), x.shape(1) + 3}), matmul(x, transpose(x))};
      });
}

TEST(FlexibleExport, ListsOfShapesAreTried) {
  const std::vector<Shape> shapes = {{2, 6}, {4, 3}, {8, 12}};
  std::vector<Arrays> values;
  for (const Shape& shape : shapes) values.push_back({normal_array(shape, float32, 3)});
  ExportedInput input{"x", float32, {}, shapes};
  const Body body = [](const Arrays& in) {
    return Arrays{flatten(in[0]), reshape(in[0], {in[0].shape(1), -1}), cumsum(in[0], 0)};
  };
  expect_same({input}, values, body);
  const mil::Model model = export_model({function_of({input}, body)});
  const mil::Feature& feature = model.functions[0].inputs[0];
  EXPECT_EQ(feature.shape, (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(feature.enumerated_shapes.size(), 3U);
  EXPECT_ERROR(export_model({function_of({input, input}, body)}), ErrorCode::InvalidArgument,
               "two inputs or states are called \"x\"");
  ExportedInput other = input;
  other.name = "y";
  EXPECT_ERROR(export_model({function_of({input, other}, body)}), ErrorCode::InvalidArgument,
               "so has another");
}

TEST(FlexibleExport, ConvolutionsFollowTheInput) {
  const auto values = of_lengths([](int64_t size) {
    return Arrays{normal_array({1, size + 4, 9, 4}, float32, 9)};
  });
  expect_same({{"x", float32, {1, n(5, 64), 9, 4}}}, values, [](const Arrays& in) {
    const array w = normal_array({6, 3, 2, 2}, float32, 10);
    return Arrays{conv(in[0], w, {1, 1}, {1, 0}, {1, 2}, 2),
                  conv(in[0], w, {2, 1}, {1, 1}, {1, 1}, 2)};
  });
}

TEST(FlexibleExport, QuantizedLayersStayQuantized) {
  struct Model : nn::Module {
    nn::Child<nn::EmbeddingLayer> table{*this, "table", nn::Embedding(20, 64)};
    nn::Child<> layer{*this, "layer", nn::Linear(64, 64)};
  } module;
  for (const int bits : {2, 3, 4, 6, 8}) {
    SCOPED_TRACE(bits);
    nn::Child<nn::EmbeddingLayer> table = module.table;
    Model model;
    nn::quantize(model, 32, bits);
    std::vector<Arrays> values;
    for (const int size : {1, 5}) values.push_back({remainder(arange(size) * 7, array(20))});
    const Body body = [&](const Arrays& in) {
      return Arrays{model.table->as_linear(model.layer(model.table(in[0])))};
    };
    expect_same({{"ids", int32, {n()}}}, values, body, 1e-3);
    const mil::Model written = export_model({function_of({{"ids", int32, {n()}}}, body)});
    const std::string text = operations_of(written, "main");
    EXPECT_NE(text.find("constexpr_blockwise_shift_scale"), std::string::npos);
    EXPECT_EQ(text.find("tile"), std::string::npos);
  }
}

TEST(FlexibleExport, RefusesWhatWouldBeFrozen) {
  const std::vector<ExportedInput> inputs = {{"x", float32, {n(2, 64), 6}}};
  const auto refuse = [&](const Body& body, const std::string& part) {
    EXPECT_ERROR(export_model({function_of(inputs, body)}), ErrorCode::Unsupported, part);
  };
  refuse([](const Arrays& in) { return Arrays{in[0].shape(0) > 9 ? exp(in[0]) : sin(in[0])}; },
         "does not do the same for all sizes");
  refuse(
      [](const Arrays& in) {
        return Arrays{in[0].shape(0) < 50 ? exp(in[0])
                                          : sin(in[0])};  // larger than the sizes tried
      },
      "n = 64");
  refuse(
      [](const Arrays& in) {
        return Arrays{in[0] / array(std::sqrt(static_cast<float>(in[0].shape(0))))};
      },
      "was computed of sizes");
  refuse(
      [](const Arrays& in) {
        const auto size = static_cast<size_t>(in[0].shape(0));
        const array made(std::vector<float>(size, 1), {in[0].shape(0), 1});
        return Arrays{in[0] * made};
      },
      "was made for one size each");
  refuse(
      [](const Arrays& in) {
        return Arrays{
            fast::rms_norm(in[0], std::nullopt, 1.0f / static_cast<float>(in[0].shape(0)))};
      },
      "the numbers of rms_norm");
  refuse(
      [](const Arrays& in) {
        const int64_t size = in[0].shape(0);
        return Arrays{ones({size * size * size % 11 + 1})};
      },
      "in terms of the sizes (n = ");
  refuse([](const Arrays& in) { return Arrays{random::normal(in[0].shape()) + in[0]}; },
         "a constant of shapes");
  EXPECT_ERROR(
      export_model({function_of({{"x", float32, {{4, 2}}}}, [](const Arrays& in) { return in; })}),
      ErrorCode::InvalidArgument, "input x: sizes from 4 to 2 on axis 0");
  EXPECT_ERROR(export_model({function_of({{"x", float32, {n(1, 4)}}, {"y", float32, {n(1, 5)}}},
                                         [](const Arrays& in) { return in; })}),
               ErrorCode::InvalidArgument, "the size n is from 1 to 4 and from 1 to 5");
}

TEST(FlexibleExport, FunctionsShareWeights) {
  const TempDir folder;
  const array w = normal_array({64, 64}, float16, 1);
  const auto function = [&](const std::string& name, const ExportedSize& size) {
    ExportedFunction result = function_of({{"x", float16, {size, 64}}}, [&](const Arrays& in) {
      // A separate but equal copy.
      return Arrays{matmul(in[0], astype(astype(w, float32), float16))};
    });
    result.name = name;
    return result;
  };
  const auto path = folder.path() / "two.mlpackage";
  export_package(path, {function("one", 1), function("many", n(2, 32))});
  const mil::Model model = mil::read_package(path);
  keep_for_others(model);
  EXPECT_EQ(model.functions.size(), 2U);
  EXPECT_EQ(model.default_function, "one");
  const auto weights = path / "Data/com.apple.CoreML/weights/weight.bin";
  EXPECT_LT(std::filesystem::file_size(weights), 64U * 64 * 2 + 1024);
  for (const int64_t size : {int64_t{1}, int64_t{7}}) {
    const array x = normal_array({size, 64}, float16, 2);
    expect_results(model, size == 1 ? "one" : "many", {x},
                   {matmul(astype(x, float32), astype(w, float32))}, 1e-2);
  }
  EXPECT_ERROR(export_model({function("one", 1), function("one", 1)}), ErrorCode::InvalidArgument,
               "two functions are called one");
}

TEST(FlexibleExport, StatesAreKeptBetweenRuns) {
  ExportedFunction function;
  function.inputs = {{"x", float16, {n(1, 8), 4}}, {"at", int32, {1}}};
  function.states = {{"cache", {16, 4}}};
  function.body = [](const ExportedArrays& given) {
    const array& x = given.inputs[0];
    const array after = slice_update(given.states[0], x, given.inputs[1], std::vector<int>{0});
    return ExportedResults{{{"total", sum(after, 0)}}, {after}};
  };
  const mil::Model model = export_model({function});
  keep_for_others(model);
  const Runs runs(model, "main");
  array cache = zeros({16, 4}, float16);
  int at = 0;
  for (const int64_t size : {3, 1, 5}) {
    const array x = normal_array({size, 4}, float16, static_cast<uint32_t>(size));
    cache = slice_update(cache, x, {at, 0}, {at + size, 4});
    const Arrays found = runs({x, array({at})});
    expect_numbers(found[0], numbers(sum(astype(cache, float32), 0)), 1e-2, "total", 1e-2);
    at += static_cast<int>(size);
  }
}

}  // namespace
}  // namespace pippin::mx
