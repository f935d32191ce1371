#include "pippin/mx/nn/layers.h"

#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"
#include "pippin/mx/nn/nn.h"

namespace pippin::mx::nn {
namespace {

TEST(Layers, LinearMultipliesAndAdds) {
  const Linear layer(3, 2);
  const std::vector<double> w = numbers(*layer.weight), b = numbers(**layer.bias);
  for (const double value : w) EXPECT_LE(std::fabs(value), 1 / std::sqrt(3.0));
  const array x = normal_array({4, 3}, float32, 1);
  const std::vector<double> in = numbers(x);
  std::vector<double> expected;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      double sum = b[j];
      for (size_t k = 0; k < 3; ++k) sum += in[i * 3 + k] * w[j * 3 + k];
      expected.push_back(sum);
    }
  }
  expect_numbers(layer(x), expected, 1e-5, "linear", 1e-6);
  EXPECT_FALSE(Linear(3, 2, false).bias);
  EXPECT_ERROR(Linear(0, 2), ErrorCode::InvalidArgument, "[Linear] A weight of shape (2,0)");
}

TEST(Layers, EmbeddingTakesRowsAndMultiplies) {
  Embedding table(5, 2);
  table.update({{"weight", array({0.f, 1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f}, {5, 2})}});
  EXPECT_EQ(numbers(table(array({3, 0}))), (std::vector<double>{6, 7, 0, 1}));
  EXPECT_EQ(numbers(table.as_linear(array({1.f, 1.f}))), (std::vector<double>{1, 5, 9, 13, 17}));
}

TEST(Layers, NormsMeanWhatTheySay) {
  const array x({1.f, 2.f, 3.f, 6.f}, {1, 4});
  const double square = std::sqrt(50.0 / 4), mean = 3, deviation = std::sqrt(14.0 / 4);
  std::vector<double> by_square, by_deviation;
  for (const double value : numbers(x)) {
    by_square.push_back(value / square);
    by_deviation.push_back((value - mean) / deviation);
  }
  expect_numbers(RMSNorm(4, 0)(x), by_square, 1e-5, "rms");
  expect_numbers(LayerNorm(4, 0)(x), by_deviation, 1e-5, "layer");
  expect_numbers(LayerNorm(4, 0, false)(x), by_deviation, 1e-5, "layer without weights");
  EXPECT_EQ(LayerNorm(4, 0, true, false).parameters().size(), 1U);
}

TEST(Layers, AttentionIsWhatItsFormulaSays) {
  const MultiHeadAttention attention(8, 2, true);
  const array x = normal_array({2, 5, 8}, float32, 3);
  const array mask = MultiHeadAttention::create_additive_causal_mask(5);
  const auto heads = [&](const Child<>& projection) {
    return transpose(reshape(projection(x), {2, 5, 2, 4}), {0, 2, 1, 3});
  };
  const array scores =
      matmul(heads(attention.query_proj), swapaxes(heads(attention.key_proj), -1, -2)) / 2.0f;
  const array mixed = matmul(softmax(scores + mask, -1), heads(attention.value_proj));
  const array expected = attention.out_proj(reshape(transpose(mixed, {0, 2, 1, 3}), {2, 5, 8}));
  expect_numbers(attention(x, x, x, mask), numbers(expected), 1e-4, "attention", 1e-5);
  const std::vector<double> triangle = numbers(mask);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) EXPECT_EQ(triangle[i * 5 + j] == 0, j <= i);
  }
  EXPECT_ERROR(MultiHeadAttention(8, 3), ErrorCode::InvalidArgument, "8 dimensions and 3 heads");
}

TEST(Layers, SequentialCallsOneAfterTheOther) {
  Sequential model;
  model.push_back(Linear(3, 4));
  model.push_back(relu);
  model.push_back(Linear(4, 2, false));
  ASSERT_EQ(model.parameters().size(), 3U);
  EXPECT_EQ(model.parameters()[2].first, "2.weight");
  const array x = normal_array({2, 3}, float32, 5);
  const auto layer = [&](const char* name, const array& in) {
    return static_cast<Layer&>(model.at(name))(in);
  };
  EXPECT_EQ(numbers(model(x)), numbers(layer("2", maximum(layer("0", x), array(0.0f)))));
}

TEST(Layers, QuantizedOnesAreNearWhatTheyWere) {
  const Linear linear(64, 16);
  const Embedding table(16, 64);
  const array x = normal_array({3, 64}, float32, 7), ids({4, 9});
  const QuantizedLinear quantized(linear, 32, 8);
  const QuantizedEmbedding codes(table, 32, 8);
  expect_numbers(quantized(x), numbers(linear(x)), 0.02, "linear", 0.02);
  expect_numbers(codes(ids), numbers(table(ids)), 0.01, "rows", 0.01);
  expect_numbers(codes.as_linear(x), numbers(table.as_linear(x)), 0.02, "product", 0.05);
}

TEST(Layers, ActivationsMeanWhatTheyAreCalled) {
  struct Case {
    const char* name;
    std::function<array(const array&)> function;
    std::function<double(double)> expected;
  };
  const auto sigmoid_of = [](double v) { return 1 / (1 + std::exp(-v)); };
  const Case cases[] = {
      {"relu", relu, [](double v) { return v > 0 ? v : 0; }},
      {"leaky", [](const array& a) { return leaky_relu(a, 0.1f); },
       [](double v) { return v > 0 ? v : 0.1 * v; }},
      {"relu2", relu2, [](double v) { return v > 0 ? v * v : 0; }},
      {"relu6", relu6, [](double v) { return std::min(6.0, v > 0 ? v : 0); }},
      {"elu", [](const array& a) { return elu(a); },
       [](double v) { return v > 0 ? v : std::expm1(v); }},
      {"softplus", softplus, [](double v) { return std::log1p(std::exp(v)); }},
      {"silu", silu, [&](double v) { return v * sigmoid_of(v); }},
      {"mish", mish, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
      {"hardswish", hardswish,
       [](double v) { return v * std::min(std::max(v + 3, 0.0), 6.0) / 6; }},
      {"gelu", gelu, [](double v) { return v * (1 + std::erf(v / std::sqrt(2.0))) / 2; }},
      {"gelu_approx", gelu_approx,
       [](double v) {
         return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
       }},
      {"gelu_fast", gelu_fast_approx, [&](double v) { return v * sigmoid_of(1.702 * v); }},
  };
  const array x({-8.f, -2.5f, -0.5f, 0.f, 0.25f, 1.f, 3.f, 9.f});
  for (const Case& each : cases) {
    std::vector<double> expected;
    for (const double value : numbers(x)) expected.push_back(each.expected(value));
    expect_numbers(each.function(x), expected, 1e-4, each.name, 1e-5);
    EXPECT_EQ(each.function(astype(x, float16)).dtype(), float16) << each.name;
  }
  EXPECT_EQ(glu(zeros({2, 6})).shape(), Shape({2, 3}));
  const array y({1.f, 2.f});
  expect_numbers(swiglu(y, y), {sigmoid_of(1), 4 * sigmoid_of(2)}, 1e-5, "swiglu");
  expect_numbers(exp(log_softmax(y)), numbers(softmax(y, -1)), 1e-5, "log_softmax");
}

}  // namespace
}  // namespace pippin::mx::nn
