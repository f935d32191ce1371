#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

TEST(Fast, NormalisesRows) {
  for (const Dtype dtype : {float32, float16, bfloat16, float64}) {
    const array a = normal_array({3, 2, 37}, dtype, 1);
    const array w = normal_array({37}, dtype, 2), b = normal_array({37}, dtype, 3);
    const array x64 = astype(a, float64), w64 = astype(w, float64), b64 = astype(b, float64);
    const array rms = rsqrt(add(mean(square(x64), -1, true), array(1e-5, float64)));
    const array deviation = subtract(x64, mean(x64, -1, true));
    const array scale = rsqrt(add(mean(square(deviation), -1, true), array(1e-5, float64)));
    for (const array& x : layouts(a)) {
      expect_numbers(fast::rms_norm(x, w, 1e-5f), numbers(multiply(multiply(x64, rms), w64)),
                     tolerance(dtype), "rms_norm", 1e-6);
      expect_numbers(fast::rms_norm(x, std::nullopt, 1e-5f), numbers(multiply(x64, rms)),
                     tolerance(dtype), "rms_norm", 1e-6);
      expect_numbers(fast::layer_norm(x, w, b, 1e-5f),
                     numbers(add(multiply(multiply(deviation, scale), w64), b64)),
                     2 * tolerance(dtype), "layer_norm", dtype == float64 ? 1e-12 : 1e-2);
    }
  }
  EXPECT_ERROR(fast::rms_norm(ones({2, 3}), ones({4}), 1e-5f), ErrorCode::InvalidArgument,
               "[rms_norm] A weight of shape (4,)");
}

std::vector<double> rotated(const array& x, int dims, bool traditional, double base, double scale,
                            const std::vector<int>& offsets) {
  const std::vector<double> values = numbers(x);
  std::vector<double> result = values;
  each_index(x.shape(), [&](const Shape& index) {
    const int64_t d = index.back();
    if (d >= dims) return;
    const int64_t half = dims / 2, pair = traditional ? d / 2 : d % half;
    const bool is_first = traditional ? d % 2 == 0 : d < half;
    Shape other = index;
    other.back() = traditional ? (is_first ? d + 1 : d - 1) : (is_first ? d + half : d - half);
    const int offset = offsets[offsets.size() == 1 ? 0 : static_cast<size_t>(index[0])];
    const double position = static_cast<double>(offset + index[index.size() - 2]) * scale;
    const double angle =
        position * std::pow(base, -static_cast<double>(pair) / static_cast<double>(half));
    const double mine = values[place_of(x.shape(), index)],
                 its = values[place_of(x.shape(), other)];
    result[place_of(x.shape(), index)] = is_first ? mine * std::cos(angle) - its * std::sin(angle)
                                                  : mine * std::cos(angle) + its * std::sin(angle);
  });
  return result;
}

TEST(Fast, RotatesPositions) {
  for (const Dtype dtype : {float32, float16, bfloat16}) {
    const array a = normal_array({2, 3, 5, 16}, dtype, 4);
    for (const bool traditional : {false, true}) {
      for (const int dims : {16, 10}) {
        for (const array& x : layouts(a)) {
          expect_numbers(fast::rope(x, dims, traditional, 10000.0f, 0.5f, 7),
                         rotated(a, dims, traditional, 10000, 0.5, {7}), tolerance(dtype), "rope",
                         tolerance(dtype) * 2);
          expect_numbers(fast::rope(x, dims, traditional, 100.0f, 1, array({0, 30})),
                         rotated(a, dims, traditional, 100, 1, {0, 30}), tolerance(dtype),
                         "rope of batches", dtype == float32 ? 1e-4 : tolerance(dtype) * 2);
        }
      }
    }
  }
  const array x = ones({1, 2, 4});
  EXPECT_ERROR(fast::rope(x, 3, false, 10.0f, 1, 0), ErrorCode::InvalidArgument, "[rope]");
  EXPECT_ERROR(fast::rope(x, 4, false, std::nullopt, 1, 0), ErrorCode::InvalidArgument, "[rope]");
}

// In float64, head by head.
array attention(const array& q, const array& k, const array& v, double scale,
                const std::optional<array>& mask) {
  const int repeats = static_cast<int>(q.shape(1) / k.shape(1));
  const array keys = repeat(astype(k, float64), repeats, 1);
  const array values = repeat(astype(v, float64), repeats, 1);
  array scores =
      multiply(matmul(astype(q, float64), swapaxes(keys, -1, -2)), array(scale, float64));
  if (mask) {
    scores = mask->dtype() == bool_ ? where(*mask, scores, array(-1e300, float64))
                                    : add(scores, astype(*mask, float64));
  }
  return matmul(softmax(scores, -1), values);
}

TEST(Fast, AttendsWithEveryMask) {
  for (const Dtype dtype : {float32, float16, bfloat16, float64}) {
    for (const auto& [rows, keys] : {std::pair(1, 19), std::pair(5, 5), std::pair(7, 300)}) {
      const array q = normal_array({2, 6, rows, 16}, dtype, 1);
      const array k = normal_array({2, 2, keys, 16}, dtype, 2);
      const array v = normal_array({2, 2, keys, 24}, dtype, 3);
      const array causal = tri(rows, keys, keys - rows, bool_);
      const array chosen = greater(normal_array({2, 1, rows, keys}, float32, 5), array(-0.5f));
      const array added = normal_array({6, rows, keys}, dtype, 6);
      const double close = tolerance(dtype);
      for (const array& keys_in : layouts(k)) {
        expect_numbers(fast::scaled_dot_product_attention(q, keys_in, v, 0.25f),
                       numbers(attention(q, k, v, 0.25, std::nullopt)), close, "plain", close);
        expect_numbers(fast::scaled_dot_product_attention(q, keys_in, v, 0.25f, "causal"),
                       numbers(attention(q, k, v, 0.25, causal)), close, "causal", close);
        expect_numbers(fast::scaled_dot_product_attention(q, keys_in, v, 0.25f, "", chosen),
                       numbers(attention(q, k, v, 0.25, chosen)), close, "bool", close);
        expect_numbers(fast::scaled_dot_product_attention(q, keys_in, v, 0.25f, "", added),
                       numbers(attention(q, k, v, 0.25, added)), close, "added", close);
      }
    }
  }
}

// As models write it; `kept` holds an intermediate that the fused form does not compute, so that it
// must be kept.
array written_out(const array& q, const array& k, const array& v, int form,
                  const std::optional<array>& mask, std::vector<array>* kept = nullptr) {
  const Dtype dtype = q.dtype();
  const array scale(0.25f, dtype), root(4.0f, dtype), keys = swapaxes(k, -1, -2);
  std::vector<array> nodes;
  nodes.push_back(form == 0   ? matmul(multiply(q, scale), keys)
                  : form == 1 ? multiply(scale, matmul(q, keys))
                              : divide(matmul(q, keys), root));
  if (mask) nodes.push_back(form == 0 ? add(nodes.back(), *mask) : add(*mask, nodes.back()));
  if (form == 2) nodes.push_back(astype(nodes.back(), float32));
  nodes.push_back(astype(softmax(nodes.back(), -1), dtype));
  if (kept != nullptr) *kept = nodes;
  return matmul(nodes.back(), v);
}

TEST(Fast, FindsAttentionThatIsWrittenOut) {
  for (const Dtype dtype : {float32, float16, bfloat16}) {
    for (const auto& [rows, keys] : {std::pair(1, 19), std::pair(6, 6), std::pair(3, 200)}) {
      const array q = normal_array({2, 3, rows, 16}, dtype, 1);
      const array k = normal_array({2, 3, keys, 16}, dtype, 2);
      const array v = normal_array({2, 3, keys, 24}, dtype, 3);
      const array hidden = astype(where(tri(rows, keys, keys - rows, bool_), array(0.0f),
                                        array(-std::numeric_limits<float>::infinity())),
                                  dtype);
      for (const std::optional<array>& mask : {std::optional<array>(), std::optional(hidden)}) {
        const array one = fast::scaled_dot_product_attention(q, k, v, 0.25f, "", mask);
        for (int form = 0; form < 3; ++form) {
          expect_numbers(written_out(q, k, v, form, mask), numbers(one), 0, "as one");
          std::vector<array> kept;
          expect_numbers(written_out(q, k, v, form, mask, &kept),
                         numbers(attention(q, k, v, 0.25, mask)), 4 * tolerance(dtype), "in steps",
                         4 * tolerance(dtype));
          for (const array& part : kept) EXPECT_EQ(part.shape(), Shape({2, 3, rows, keys}));
        }
      }
    }
  }
  // NaN and infinities, and shapes that attention rejects.
  const array q = ugly({1, 2, 3, 8}, float32, 7), k = ugly({1, 2, 5, 8}, float32, 8);
  const array v = normal_array({1, 2, 5, 8}, float32, 9);
  std::vector<array> kept;
  const std::vector<double> steps = numbers(written_out(q, k, v, 0, std::nullopt, &kept));
  expect_numbers(written_out(q, k, v, 0, std::nullopt), steps, 1e-5, "ugly", 1e-5);
  const array shared = normal_array({1, 1, 5, 8}, float32, 4);
  const array three = normal_array({2, 3, 8}, float32, 4);
  expect_numbers(written_out(v, shared, shared, 0, std::nullopt),
                 numbers(attention(v, shared, shared, 0.25, std::nullopt)), 1e-5, "one head", 1e-5);
  expect_numbers(written_out(three, three, three, 1, std::nullopt),
                 numbers(flatten(attention(expand_dims(three, 0), expand_dims(three, 0),
                                           expand_dims(three, 0), 0.25, std::nullopt),
                                 0, 1)),
                 1e-5, "three axes", 1e-5);
}

TEST(Fast, AttendsWithSinks) {
  const array q = normal_array({1, 4, 3, 8}, float32, 1),
              k = normal_array({1, 2, 5, 8}, float32, 2);
  const array v = normal_array({1, 2, 5, 8}, float32, 3), low = full({4}, -1e9f);
  expect_numbers(fast::scaled_dot_product_attention(q, k, v, 1, "causal", std::nullopt, low),
                 numbers(fast::scaled_dot_product_attention(q, k, v, 1, "causal")), 1e-5,
                 "sinks that take nothing", 1e-6);
  const array all =
      fast::scaled_dot_product_attention(q, k, v, 1, "", std::nullopt, full({4}, 1e9f));
  EXPECT_EQ(max(abs(all)).item<float>(), 0);
  EXPECT_ERROR(fast::scaled_dot_product_attention(q, k, v, 1, "soft"), ErrorCode::InvalidArgument,
               "mask");
  EXPECT_ERROR(fast::scaled_dot_product_attention(q, v, ones({1, 3, 5, 8}), 1),
               ErrorCode::InvalidArgument, "do not go together");
}

// The thread of async_eval continues after static objects have been destroyed.
TEST(FastDeathTest, RopesMayBeEvaluatedWhileTheProcessEnds) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto end_while_evaluating = [] {
    // Runs after the destruction of all objects that the evaluation creates.
    std::atexit([] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); });
    array x = ones({1, 1, 256, 64});
    for (int i = 0; i < 4000; ++i) x = fast::rope(x, 64, false, 10000.0f, 1, i % 2);
    async_eval({&x, 1});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::exit(0);
  };
  EXPECT_EXIT(end_while_evaluating(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pippin::mx
