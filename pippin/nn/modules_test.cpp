// The results of modules against formulas written out here.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/testing.h"
#include "pippin/engine/reference/reference.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/nn/attention/attention.h"
#include "pippin/nn/attention/stateful_cache.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {
namespace {

using array::Array;

constexpr auto kFloat = mil::DataType::Float32;

struct Weight {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

Parameters parameters(const TempDir& folder, const std::map<std::string, Weight>& weights) {
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, weight] : weights)
    declarations.push_back({name, Dtype::F32, weight.shape});
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  for (const auto& [name, weight] : weights) writer.append(std::as_bytes(std::span(weight.values)));
  writer.finish();
  return Parameters(std::make_shared<const Checkpoint>(Checkpoint::open(folder.path())),
                    Precision{kFloat});
}

// The elements of the array that `record` makes from x.
template <typename Record>
std::vector<double> run(const std::vector<int64_t>& shape, const std::vector<double>& x,
                        Record&& record) {
  array::Builder builder;
  const Array input = builder.input("x", kFloat, mil::Shape(shape.begin(), shape.end()));
  builder.output("y", record(builder, input));
  mil::Program program;
  program.functions.emplace("main", builder.build());
  mil::Tensor tensor(kFloat, shape);
  tensor.values = x;
  engine::ReferenceState state;
  return engine::ReferenceInterpreter(program, "main").run({{"x", tensor}}, state).at("y").values;
}

void expect_near(const std::vector<double>& have, const std::vector<double>& want) {
  EXPECT_THAT(have, testing::Pointwise(testing::DoubleNear(1e-6), want));
}

TEST(Norm, GivesTheFormulas) {
  const TempDir folder;
  const Parameters all = parameters(
      folder, {{"n.weight", {{4}, {0.5f, 1, -2, 3}}}, {"n.bias", {{4}, {1, 0, 0.25f, -1}}}});
  const std::vector<double> x = {1, -2, 3, 0.5, 100, 101, 99, 100};
  const std::vector<double> weight = {0.5, 1, -2, 3}, bias = {1, 0, 0.25, -1};
  const auto expected = [&](bool centred, const std::vector<double>& w,
                            const std::vector<double>& b) {
    std::vector<double> y;
    for (size_t row = 0; row < x.size(); row += 4) {
      double mean = 0, square = 0;
      for (size_t i = 0; i < 4; ++i) mean += centred ? x[row + i] / 4 : 0;
      for (size_t i = 0; i < 4; ++i) square += (x[row + i] - mean) * (x[row + i] - mean) / 4;
      for (size_t i = 0; i < 4; ++i) {
        y.push_back((x[row + i] - mean) / std::sqrt(square + 0.5) * w[i] + b[i]);
      }
    }
    return y;
  };
  const auto normed = [&](NormOptions options) {
    options.epsilon = 0.5;
    return run({1, 2, 4}, x,
               [&](auto&, const Array& a) { return Norm(all.at("n"), 4, options)(a); });
  };
  const std::vector<double> none(4), ones(4, 1.0), more = {1.5, 2, -1, 4}, twice = {1, 2, -4, 6};
  using Kind = NormOptions::Kind;
  expect_near(normed({}), expected(false, weight, none));
  expect_near(normed({.one_plus = true}), expected(false, more, none));
  expect_near(normed({.scale = 2}), expected(false, twice, none));
  expect_near(normed({.weight = false}), expected(false, ones, none));
  expect_near(normed({.kind = Kind::Layer}), expected(true, weight, none));
  expect_near(normed({.kind = Kind::Layer, .bias = true}), expected(true, weight, bias));
}

TEST(Rope, TurnsPairsByPositionTimesFrequency) {
  const RopeOptions options{.dims = 4, .theta = 100.0};  // frequencies 1 and 1/10
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, -1, 0.5, 2, -3, 7, 8};
  const auto turned = run({1, 1, 2, 6}, x, [&](auto&, const Array& a) {
    return rotate(a, Rope(16, options, kFloat).rows(5, 7));
  });
  std::vector<double> expected;
  for (size_t row = 0; row < 2; ++row) {
    const std::span<const double> in(&x[row * 6], 6);
    const auto position = static_cast<double>(5 + row);
    const double c0 = std::cos(position), s0 = std::sin(position);
    const double c1 = std::cos(position / 10), s1 = std::sin(position / 10);
    for (const double value : {in[0] * c0 - in[2] * s0, in[1] * c1 - in[3] * s1,
                               in[2] * c0 + in[0] * s0, in[3] * c1 + in[1] * s1, in[4], in[5]}) {
      expected.push_back(value);
    }
  }
  expect_near(turned, expected);
}

// Contexts of many blocks of positions, the last of which is not whole.
TEST(Rope, LongTablesAreTheCosinesAndSinesOfEachPosition) {
  constexpr int64_t kContext = 3 * 256 + 5;
  for (const int64_t context :
       {int64_t{1}, int64_t{256}, kContext, int64_t{40001}, int64_t{80001}}) {
    const int64_t from = std::max<int64_t>(0, context - 300);
    const int64_t rows = context - from;
    std::vector<double> x, expected;
    for (int64_t row = 0; row < rows; ++row) {
      x.insert(x.end(), {1, 1, 0, 0});
      for (const double frequency : {1.0, 0.1}) {
        expected.push_back(std::cos(static_cast<double>(from + row) * frequency));
      }
      for (const double frequency : {1.0, 0.1}) {
        expected.push_back(std::sin(static_cast<double>(from + row) * frequency));
      }
    }
    const auto turned = run({1, 1, rows, 4}, x, [&](auto&, const Array& a) {
      return rotate(a, Rope(context, {.dims = 4, .theta = 100.0}, kFloat).rows(from, context));
    });
    EXPECT_THAT(turned, testing::Pointwise(testing::DoubleNear(1.2e-7), expected)) << context;
  }
}

// A large table is computed while it is read, from any byte on.
TEST(Rope, LargeTablesCanBeReadInPieces) {
  const Rope rope(30001, {.dims = 12, .theta = 100.0}, kFloat);
  array::Builder builder;
  builder.output("y", rope.rows(0, 30001).cos);
  mil::Program program;
  program.functions.emplace("main", builder.build());
  std::shared_ptr<const mil::TensorSource> source;
  mil::for_each_operation(program.functions.at("main")->block(), [&](const mil::Operation& one) {
    const mil::Value* value = one.constant_value();
    if (value != nullptr && value->source != nullptr) source = value->source;
  });
  ASSERT_NE(source, nullptr);
  ASSERT_EQ(source->size(), 30001U * 12 * sizeof(float));
  std::vector<std::byte> whole(source->size());
  source->read(0, whole);
  float last = 0;
  std::memcpy(&last, whole.data() + whole.size() - sizeof(last), sizeof(last));
  EXPECT_NEAR(last, std::cos(30000 * std::pow(100.0, -5.0 / 6)), 1e-7);
  for (const uint64_t offset : {uint64_t{1}, uint64_t{12287}, uint64_t{48 * 257 + 5}}) {
    std::vector<std::byte> piece(20000);
    source->read(offset, piece);
    EXPECT_TRUE(
        std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<int64_t>(offset)))
        << offset;
  }
}

TEST(MLP, ActivationsGiveTheirFormulas) {
  const std::vector<double> x = {-3, -0.75, 0, 0.5, 4};
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const std::pair<Activation, std::function<double(double)>> cases[] = {
      {Activation::Silu, [&](double v) { return v * sigmoid(v); }},
      {Activation::Gelu, [](double v) { return v / 2 * (1 + std::erf(v / std::numbers::sqrt2)); }},
      {Activation::GeluTanh,
       [](double v) {
         const double inner = v + 0.044715 * v * v * v;
         return v / 2 * (1 + std::tanh(std::sqrt(2 * std::numbers::inv_pi) * inner));
       }},
      {Activation::QuickGelu, [&](double v) { return v * sigmoid(1.702 * v); }},
      {Activation::Relu, [](double v) { return std::max(v, 0.0); }},
      {Activation::Relu2, [](double v) { return std::max(v, 0.0) * std::max(v, 0.0); }},
      {Activation::Tanh, [](double v) { return std::tanh(v); }},
      {Activation::Sigmoid, sigmoid},
      {Activation::Identity, [](double v) { return v; }},
  };
  for (const auto& [activation, formula] : cases) {
    SCOPED_TRACE(static_cast<int>(activation));
    std::vector<double> expected;
    for (const double value : x) expected.push_back(formula(value));
    const Activation which = activation;
    expect_near(run({1, 5}, x, [&](auto&, const Array& a) { return apply(which, a); }), expected);
  }
}

TEST(MLP, GateTimesUpHoweverItLies) {
  const TempDir folder;
  const std::vector<float> gate = {1, 2, -1, 0.5f, 0, 3}, up = {2, 0, 1, 1, -1, 4};  // (3, 2)
  const std::vector<float> down = {1, 0, 2, -1, 1, 0.5f};                            // (2, 3)
  std::vector<float> both = gate;
  both.insert(both.end(), up.begin(), up.end());
  const Parameters all = parameters(folder, {{"apart.gate_proj.weight", {{3, 2}, gate}},
                                             {"apart.up_proj.weight", {{3, 2}, up}},
                                             {"apart.down_proj.weight", {{2, 3}, down}},
                                             {"fused.gate_proj.weight", {{6, 2}, both}},
                                             {"fused.down_proj.weight", {{2, 3}, down}}});
  // relu(gate x) * (up x) for x = (1, 2): (5, 0, 6) * (2, 3, 7) = (10, 0, 42).
  const std::vector<double> expected = {1 * 10 + 2 * 42, -1 * 10 + 0.5 * 42};
  for (const bool fused : {false, true}) {
    const MLPOptions options{
        .features = 2, .hidden_features = 3, .activation = Activation::Relu, .fused = fused};
    expect_near(run({1, 1, 2}, {1, 2},
                    [&](auto&, const Array& a) {
                      LayerCarry carry;
                      return MLP(all.at(fused ? "fused" : "apart"), options)(a, carry);
                    }),
                expected);
  }
}

TEST(MLP, LimitsBeforeOrAfterTheActivation) {
  const TempDir folder;
  const Parameters all =
      parameters(folder, {{"gate_proj.weight", {{3, 2}, {1, 2, -1, 0.5f, 0, 3}}},
                          {"up_proj.weight", {{3, 2}, {2, 0, 1, 1, -1, 4}}},
                          {"down_proj.weight", {{2, 3}, {1, 0, 2, -1, 1, 0.5f}}}});
  // For x = (1, 2): gate x = (5, 0, 6) and up x = (2, 3, 7), of which 3 remains of the 7.
  for (const bool after : {false, true}) {
    const double gate = after ? 3 : 9;
    const MLPOptions options{.features = 2,
                             .hidden_features = 3,
                             .activation = Activation::Relu2,
                             .limit = 3.0,
                             .activates_first = after};
    expect_near(run({1, 1, 2}, {1, 2},
                    [&](auto&, const Array& a) {
                      LayerCarry carry;
                      return MLP(all, options)(a, carry);
                    }),
                {2 * gate + 2 * 3 * gate, -2 * gate + 0.5 * 3 * gate});
  }
}

// Queries of zeros weight all keys equally: each token gets the mean of the values up to itself.
const AttentionOptions kSmall = {.features = 2, .num_heads = 1, .num_kv_heads = 1, .head_dim = 2};
const std::vector<float> kOne = {1, 0, 0, 1}, kNothing = {0, 0, 0, 0};

std::vector<double> attend(const Parameters& all, const AttentionOptions& options,
                           const std::vector<double>& x, const std::vector<double>& mask) {
  const auto query = static_cast<int64_t>(x.size()) / options.features;
  return run({1, query, options.features}, x, [&](array::Builder& builder, const Array& a) {
    StatefulCache cache(builder, kFloat, StatefulCacheShape({options.needs()}, /*context=*/16));
    const Array hidden = array::constant(kFloat, {1, 1, query, query}, mask);
    const Pass pass{0, query, query, hidden};
    LayerCarry carry;
    return Attention(all, options)(a,
                                   {0, nullptr, &pass.mask, cache, pass, carry, nullptr, nullptr});
  });
}

constexpr double kHidden = -INFINITY;

TEST(Attention, WithoutScoresTheMeanOfWhatIsSeen) {
  const TempDir folder;
  const Parameters all = parameters(folder, {{"q_proj.weight", {{2, 2}, kNothing}},
                                             {"k_proj.weight", {{2, 2}, kOne}},
                                             {"v_proj.weight", {{2, 2}, kOne}},
                                             {"o_proj.weight", {{2, 2}, kOne}}});
  const std::vector<double> x = {1, 2, 3, 6, 8, 1};
  const std::vector<double> causal = {0, kHidden, kHidden, 0, 0, kHidden, 0, 0, 0};
  expect_near(attend(all, kSmall, x, causal), {1, 2, 2, 4, 4, 3});
  const std::vector<double> window = {0, kHidden, kHidden, 0, 0, kHidden, kHidden, 0, 0};
  expect_near(attend(all, kSmall, x, window), {1, 2, 2, 4, 5.5, 3.5});
}

TEST(Attention, ScoresAreScaledAndCapped) {
  const TempDir folder;
  const Parameters all = parameters(folder, {{"q_proj.weight", {{2, 2}, kOne}},
                                             {"k_proj.weight", {{2, 2}, kOne}},
                                             {"v_proj.weight", {{2, 2}, kOne}},
                                             {"o_proj.weight", {{2, 2}, kOne}}});
  // The second token's products with the keys are 1 and 4 + 1.
  const std::vector<double> x = {0, 1, 2, 1}, causal = {0, kHidden, 0, 0};
  const auto expected = [](double first, double second) {
    const double share = 1 / (1 + std::exp(first - second));  // of the second value
    return std::vector<double>{0, 1, 2 * share, 1};
  };
  AttentionOptions options = kSmall;
  const double root = std::numbers::sqrt2;
  expect_near(attend(all, options, x, causal), expected(1 / root, 5 / root));
  options.scale = 0.25;
  expect_near(attend(all, options, x, causal), expected(0.25, 1.25));
  options.softcap = 0.5;
  expect_near(attend(all, options, x, causal),
              expected(0.5 * std::tanh(0.5), 0.5 * std::tanh(2.5)));
}

// Two query heads share a key-value head; the same rows in one matrix, in both of its orders.
TEST(Attention, ProjectionsLieInAnyLayout) {
  const auto rows = [](std::initializer_list<int> heads) {  // of 2 rows of 2 numbers each
    std::vector<float> values;
    for (const int head : heads) {
      for (int i = 0; i < 4; ++i)
        values.push_back(static_cast<float>((head * 5 + i * 3) % 7) / 4 - 0.75f);
    }
    return values;
  };
  // Query heads 0 to 3, key heads 4 and 5, value heads 6 and 7.
  const std::vector<float> output = {1, 0, 2, -1, 1, 0, 0.5f, 1, 0, 1, 1, 0, -1, 2, 0, 1};
  const TempDir folder;
  const Parameters all =
      parameters(folder, {{"apart.q_proj.weight", {{8, 2}, rows({0, 1, 2, 3})}},
                          {"apart.k_proj.weight", {{4, 2}, rows({4, 5})}},
                          {"apart.v_proj.weight", {{4, 2}, rows({6, 7})}},
                          {"apart.o_proj.weight", {{2, 8}, output}},
                          {"blocks.qkv_proj.weight", {{16, 2}, rows({0, 1, 2, 3, 4, 5, 6, 7})}},
                          {"blocks.o_proj.weight", {{2, 8}, output}},
                          {"groups.qkv_proj.weight", {{16, 2}, rows({0, 1, 4, 6, 2, 3, 5, 7})}},
                          {"groups.o_proj.weight", {{2, 8}, output}}});
  AttentionOptions options{.features = 2, .num_heads = 4, .num_kv_heads = 2, .head_dim = 2};
  const std::vector<double> x = {1, -2, 0.5, 3, -1, 1};
  const std::vector<double> causal = {0, kHidden, kHidden, 0, 0, kHidden, 0, 0, 0};
  // By hand: softmax(q k / sqrt(2)) v of each head, then the output matrix.
  const auto product = [&](int head, size_t token) {
    const auto matrix = rows({head});
    const double a = x[token * 2], b = x[token * 2 + 1];
    return std::pair{matrix[0] * a + matrix[1] * b, matrix[2] * a + matrix[3] * b};
  };
  std::vector<double> expected;
  for (size_t t = 0; t < 3; ++t) {
    std::vector<double> heads;
    for (int head = 0; head < 4; ++head) {
      const auto q = product(head, t);
      double total = 0, first = 0, second = 0;
      for (size_t s = 0; s <= t; ++s) {
        const auto k = product(4 + head / 2, s), v = product(6 + head / 2, s);
        const double share =
            std::exp((q.first * k.first + q.second * k.second) / std::numbers::sqrt2);
        total += share;
        first += share * v.first;
        second += share * v.second;
      }
      heads.push_back(first / total);
      heads.push_back(second / total);
    }
    for (size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (size_t i = 0; i < 8; ++i) sum += output[row * 8 + i] * heads[i];
      expected.push_back(sum);
    }
  }
  const std::pair<const char*, QkvLayout> layouts[] = {{"apart", QkvLayout::Separate},
                                                       {"blocks", QkvLayout::Blocks},
                                                       {"groups", QkvLayout::PerGroup}};
  for (const auto& [path, layout] : layouts) {
    SCOPED_TRACE(path);
    options.layout = layout;
    expect_near(attend(all.at(path), options, x, causal), expected);
  }
}

}  // namespace
}  // namespace pippin::nn
