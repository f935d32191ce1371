#include "pippin/mx/export/export.h"

#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/mx/export/export_testing.h"

namespace pippin::mx {
namespace {

using Body = std::function<std::vector<array>(const std::vector<array>&)>;

// Compares the function as a program, run by the engine, with the function itself.
void expect_same(const std::string& what, const std::vector<array>& inputs, const Body& body,
                 double relative = 1e-5) {
  SCOPED_TRACE(what);
  std::vector<NamedArray> named, outputs;
  std::vector<array> placeholders;
  for (const array& input : inputs) {
    placeholders.push_back(Trace::placeholder(input.dtype(), input.shape()));
    named.emplace_back("in" + std::to_string(named.size()), placeholders.back());
  }
  for (const array& output : body(placeholders)) {
    outputs.emplace_back("out" + std::to_string(outputs.size()), output);
  }
  const mil::Model model = export_model(named, outputs);
  keep_for_others(model);
  expect_results(model, "main", inputs, body(inputs), relative);
}

TEST(Export, FunctionsOfElementsMeanWhatTheyDo) {
  const array x = normal_array({2, 3, 4}, float32, 1), y = normal_array({3, 1}, float32, 2);
  const array p = add(abs(x), array(0.5f));
  const std::pair<const char*, array (*)(const array&)> unary[] = {
      {"abs", abs},
      {"arctan", arctan},
      {"ceil", ceil},
      {"cos", cos},
      {"cosh", cosh},
      {"erf", erf},
      {"exp", exp},
      {"expm1", expm1},
      {"floor", floor},
      {"log", log},
      {"log1p", log1p},
      {"log2", log2},
      {"log10", log10},
      {"negative", negative},
      {"rsqrt", rsqrt},
      {"sigmoid", sigmoid},
      {"sign", sign},
      {"sin", sin},
      {"sinh", sinh},
      {"sqrt", sqrt},
      {"square", square},
      {"tan", tan},
      {"tanh", tanh},
      {"isnan", isnan},
      {"round", [](const array& a) { return round(a); }},
      {"reciprocal", reciprocal}};
  for (const auto& [name, op] : unary) {
    const auto call = op;
    expect_same(
        name, {p}, [call](const auto& in) { return std::vector<array>{call(in[0])}; }, 1e-4);
  }
  const std::pair<const char*, array (*)(const array&, const array&)> binary[] = {
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"divide", divide},
      {"maximum", maximum},
      {"minimum", minimum},
      {"less", less},
      {"equal", equal},
      {"remainder", remainder},
      {"floor_divide", floor_divide},
      {"logaddexp", logaddexp},
      {"logical_and", logical_and},
      {"not_equal", not_equal},
      {"greater_equal", greater_equal}};
  for (const auto& [name, op] : binary) {
    const auto call = op;
    expect_same(
        name, {x, y}, [call](const auto& in) { return std::vector<array>{call(in[0], in[1])}; },
        1e-4);
  }
  expect_same("where", {x, y}, [](const auto& in) {
    return std::vector<array>{where(greater(in[0], in[1]), in[0], array(2.0f))};
  });
  expect_same("int32", {array({5, -7, 9}), array({2})}, [](const auto& in) {
    return std::vector<array>{floor_divide(in[0], in[1]), astype(in[0], float32), in[0] * in[1]};
  });
}

TEST(Export, ShapesAndSumsMeanWhatTheyDo) {
  const array x = normal_array({2, 3, 4}, float32, 3);
  expect_same("shapes", {x}, [](const auto& in) {
    const array& a = in[0];
    return std::vector<array>{transpose(a, {2, 0, 1}),
                              reshape(a, {4, 6}),
                              broadcast_to(expand_dims(a, 0), {5, 2, 3, 4}),
                              slice(a, {0, 2, 1}, {2, -4, 4}, {1, -1, 2}),
                              concatenate({a, a}, 1),
                              pad(a, {{0, 1}, {1, 0}, {0, 0}}, array(3.0f)),
                              stack({a, a}, 3),
                              roll(a, {1}, std::vector<int>{2}),
                              tril(a),
                              repeat(a, 2, 0)};
  });
  expect_same("reductions", {x}, [](const auto& in) {
    const array& a = in[0];
    return std::vector<array>{sum(a),
                              sum(a, 1),
                              mean(a, 2, true),
                              max(a, 0),
                              min(a, -1),
                              prod(a, 1),
                              any(a > 1.0f),
                              all(a > -9.0f),
                              argmax(a, 1),
                              argmin(a, 2),
                              softmax(a, -1),
                              softmax(a, 0),
                              logsumexp(a, 1),
                              cumsum(a, 1),
                              sort(a, -1),
                              argsort(a, 1),
                              var(a, std::vector<int>{1})};
  });
  expect_same("indices", {x, array({1, 0, 1}), array({2, 0}, {1, 1, 2})}, [](const auto& in) {
    return std::vector<array>{take(in[0], in[1], 0), take_along_axis(in[0], in[2], 2),
                              slice_update(in[0], zeros({3, 2}), {0, 0, 1}, {2, 3, 3})};
  });
}

TEST(Export, ModelsMeanWhatTheyDo) {
  const array x = normal_array({1, 5, 16}, float32, 1), w = normal_array({24, 16}, float32, 2);
  expect_same(
      "layers", {x},
      [&](const auto& in) {
        const array h = fast::rms_norm(in[0], normal_array({16}, float32, 3), 1e-5f);
        const array y = addmm(normal_array({24}, float32, 4), h, transpose(w));
        return std::vector<array>{y, fast::layer_norm(y, std::nullopt, std::nullopt, 1e-5f),
                                  matmul(y, w)};
      },
      1e-4);
  const array q = normal_array({1, 4, 3, 8}, float32, 5),
              k = normal_array({1, 2, 7, 8}, float32, 6);
  for (const bool traditional : {false, true}) {
    expect_same(
        "attention", {q, k},
        [traditional](const auto& in) {
          const array a = fast::rope(in[0], 6, traditional, 100.0f, 1, 4);
          const array b = fast::rope(in[1], 8, traditional, 100.0f, 1, 0);
          return std::vector<array>{a, b,
                                    fast::scaled_dot_product_attention(a, b, in[1], 0.3f, "causal"),
                                    fast::scaled_dot_product_attention(a, b, in[1], 0.3f)};
        },
        1e-4);
  }
  const std::vector<array> quantized = quantize(normal_array({24, 64}, float32, 8), 32, 4);
  expect_same(
      "quantized", {normal_array({2, 64}, float32, 7)},
      [&](const auto& in) {
        return std::vector<array>{
            quantized_matmul(in[0], quantized[0], quantized[1], quantized[2], true, 32, 4)};
      },
      1e-4);
  expect_same(
      "conv", {normal_array({1, 9, 8, 4}, float32, 9)},
      [](const auto& in) {
        return std::vector<array>{
            conv(in[0], normal_array({6, 3, 2, 2}, float32, 10), {2, 1}, {1, 0}, {1, 2}, 2)};
      },
      1e-4);
}

TEST(Export, IndexedElementsMeanWhatTheyDo) {
  const array x = normal_array({4, 3, 5}, float32, 3), v = normal_array({2, 2, 5}, float32, 4);
  const array i = array({3, -2, 0, 1}, {2, 2}), j = array({0, 2}), k = array({2, -1, 0}, {1, 3, 1});
  expect_same("gather", {x, i, j}, [](const auto& in) {
    return std::vector<array>{gather(in[0], {in[1]}, {0}, {1, 3, 5}),
                              gather(in[0], {in[1], in[2]}, {0, 1}, {1, 1, 5}),
                              gather(in[0], {in[2], in[1]}, {1, 0}, {1, 1, 5}),
                              gather(in[0], {in[2]}, {2}, {4, 3, 1}),
                              take(in[0], in[1], 0),
                              take(in[0], array({-1, 1}), 1)};
  });
  expect_same("scatter", {x, j, v}, [](const auto& in) {
    const array updates = reshape(slice(in[2], {0, 0, 0}, {2, 1, 5}), {2, 1, 1, 5});
    const array whole = broadcast_to(updates, {2, 1, 3, 5});
    std::vector<array> results;
    for (const UpdateMode mode : {UpdateMode::None, UpdateMode::Add, UpdateMode::Multiply,
                                  UpdateMode::Maximum, UpdateMode::Minimum}) {
      results.push_back(scatter(in[0], {in[1]}, whole, {0}, mode));
      results.push_back(scatter(in[0], {in[1], in[1]}, updates, {0, 1}, mode));
      results.push_back(slice_update(in[0], in[2], {1, 1, 0}, {3, 3, 5}, {1, 1, 1}, mode));
    }
    return results;
  });
  expect_same("along an axis", {x, k}, [](const auto& in) {
    return std::vector<array>{put_along_axis(in[0], in[1], array(7.0f), 1),
                              take_along_axis(in[0], in[1], 1),
                              scatter_add_axis(in[0], in[1], array(2.0f), 1)};
  });
  expect_same("slices from where an array says", {x, array({2, 9})}, [](const auto& in) {
    const std::vector<int> axes = {0, 2};
    return std::vector<array>{
        slice(in[0], in[1], axes, {2, 3, 3}),
        slice_update(in[0], ones({2, 3, 1}), slice(in[1], {0}, {1}), std::vector<int>{0})};
  });
  expect_same("bits", {x, array({5, -3, 0})}, [](const auto& in) {
    const array p = greater(in[0], array(0.0f)), q = less(in[0], array(0.5f));
    return std::vector<array>{bitwise_and(p, q), bitwise_or(p, q), bitwise_xor(p, q),
                              bitwise_invert(p), bitwise_invert(in[1])};
  });
}

TEST(Export, WritesPackagesWithStates) {
  const TempDir folder;
  const array x = Trace::placeholder(float16, {1, 4});
  const array before = Trace::placeholder(float16, {3, 4});
  const array after = slice_update(before, x, {1, 0}, {2, 4});
  const auto path = folder.path() / "cache.mlpackage";
  export_package(path, {{"x", x}}, {{"total", sum(after, 0)}}, {{"cache", before, after}});
  const mil::Model model = mil::read_package(path);
  EXPECT_EQ(model.functions.at(0).states.at(0).name, "cache");
  EXPECT_EQ(model.functions.at(0).outputs.at(0).shape, std::vector<int64_t>({4}));
}

TEST(Export, RefusesByName) {
  const array x = Trace::placeholder(float32, {4});
  EXPECT_ERROR(export_model({{"x", x}}, {{"y", erfinv(x)}}), ErrorCode::Unsupported,
               "export: erfinv cannot be written as MIL");
  const array i = Trace::placeholder(int32, {4}), narrow = Trace::placeholder(uint8, {4});
  EXPECT_ERROR(export_model({{"i", i}}, {{"y", bitwise_and(i, i)}}), ErrorCode::Unsupported,
               "bitwise_and of integers cannot be written");
  EXPECT_ERROR(export_model({{"i", i}}, {{"y", astype(i, uint8)}}), ErrorCode::Unsupported,
               "astype of uint8 cannot be written as MIL, which computes with int32");
  EXPECT_ERROR(export_model({{"i", narrow}}, {{"y", narrow + narrow}}), ErrorCode::Unsupported,
               "add of uint8 cannot be written");
  export_model({{"i", narrow}}, {{"y", astype(narrow, float32)}});
  EXPECT_ERROR(export_model({}, {{"y", x + 1.0f}}), ErrorCode::InvalidArgument,
               "that is not an input");
  EXPECT_ERROR(eval(x + 1.0f), ErrorCode::InvalidArgument, "[eval]");
}

}  // namespace
}  // namespace pippin::mx
