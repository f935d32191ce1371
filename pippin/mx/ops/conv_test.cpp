#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

// The definition, position by position.
std::vector<double> reference(const array& x, const array& w, const ConvOptions& o,
                              const Shape& shape) {
  const size_t rank = x.ndim() - 2;
  const std::vector<double> in = numbers(x), weights = numbers(w);
  const auto option = [&](const std::vector<int>& numbers, size_t axis, int otherwise) {
    return numbers.empty() ? otherwise : numbers[axis];
  };
  std::vector<double> result;
  const int64_t own_inputs = w.shape(-1), own_outputs = w.shape(0) / o.groups;
  each_index(shape, [&](const Shape& at) {
    const int64_t output = at.back(), group = output / own_outputs;
    double total = 0;
    Shape places(w.shape().begin() + 1, w.shape().end() - 1);
    each_index(places, [&](const Shape& k) {
      Shape from(x.ndim(), at[0]), kernel(w.ndim(), output);
      for (size_t i = 0; i < rank; ++i) {
        int64_t place = at[i + 1] * option(o.stride, i, 1) - option(o.padding_low, i, 0) +
                        k[i] * option(o.kernel_dilation, i, 1);
        const int64_t step = option(o.input_dilation, i, 1);
        if (place < 0 || place % step != 0 || place / step >= x.shape()[i + 1]) return;
        from[i + 1] = place / step;
        kernel[i + 1] = o.flip ? w.shape()[i + 1] - 1 - k[i] : k[i];
      }
      for (int64_t c = 0; c < own_inputs; ++c) {
        from.back() = group * own_inputs + c;
        kernel.back() = c;
        total += in[place_of(x.shape(), from)] * weights[place_of(w.shape(), kernel)];
      }
    });
    result.push_back(total);
  });
  return result;
}

TEST(Conv, AgreesWithItsDefinition) {
  struct Case {
    Shape x, w;
    ConvOptions options;
  };
  const Case cases[] = {
      {{2, 9, 4}, {6, 3, 4}, {}},
      {{1, 9, 4}, {6, 3, 2}, {{2}, {1}, {2}, {2}, {}, 2, false}},
      {{2, 7, 6, 3}, {5, 3, 2, 3}, {{1, 2}, {1, 0}, {1, 1}, {}, {}, 1, false}},
      {{1, 5, 5, 4}, {4, 3, 3, 1}, {{1, 1}, {1, 1}, {1, 1}, {}, {}, 4, true}},
      {{1, 4, 3, 2}, {3, 2, 2, 2}, {{1, 1}, {1, 1}, {2, 1}, {}, {2, 3}, 1, true}},
      {{1, 4, 5, 3, 2}, {3, 2, 2, 3, 2}, {{1, 2, 1}, {0, 1, 1}, {0, 1, 1}, {}, {}, 1, false}}};
  for (const Dtype dtype : {float32, float16}) {
    for (const Case& c : cases) {
      const array x = normal_array(c.x, dtype, 1), w = normal_array(c.w, dtype, 2);
      for (const array& layout : layouts(x)) {
        const array y = conv_general(layout, w, c.options);
        expect_numbers(y, reference(x, w, c.options, y.shape()), tolerance(dtype), "conv",
                       tolerance(dtype) * 8);
      }
    }
  }
}

TEST(Conv, TransposesAndConvolves) {
  const array x = normal_array({1, 5, 3}, float32, 3), w = normal_array({2, 4, 3}, float32, 4);
  const array y = conv_transpose(x, w, {2}, {1}, {1}, {1});
  EXPECT_EQ(y.shape(), Shape({1, 11, 2}));
  // Each input adds its multiple of the kernel.
  std::vector<double> expected(22, 0);
  const std::vector<double> in = numbers(x), kernel = numbers(w);
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t o = 0; o < 2; ++o) {
      for (int64_t k = 0; k < 4; ++k) {
        const int64_t at = i * 2 - 1 + k;
        for (int64_t c = 0; c < 3 && at >= 0 && at < 11; ++c) {
          expected[static_cast<size_t>(at * 2 + o)] +=
              in[static_cast<size_t>(i * 3 + c)] * kernel[static_cast<size_t>((o * 4 + k) * 3 + c)];
        }
      }
    }
  }
  expect_numbers(y, expected, 1e-5, "conv_transpose", 1e-5);
  const array a({1.0f, 2.0f, 3.0f}), v({0.0f, 1.0f, 0.5f});
  expect_numbers(convolve(a, v), {0, 1, 2.5, 4, 1.5}, 1e-6, "full");
  expect_numbers(convolve(a, v, "same"), {1, 2.5, 4}, 1e-6, "same");
  expect_numbers(convolve(a, v, "valid"), {2.5}, 1e-6, "valid");
  expect_numbers(convolve(a, array({1.0f, 1.0f}), "same"), {1, 3, 5}, 1e-6, "same, even");
}

TEST(Conv, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(conv_general(ones({1, 4, 3}), ones({2, 3, 2})), ErrorCode::InvalidArgument,
               "[conv]");
  EXPECT_ERROR(conv_general(ones({1, 2, 3}), ones({2, 3, 3})), ErrorCode::InvalidArgument,
               "does not fit");
  ConvOptions options;
  options.stride = {0};
  EXPECT_ERROR(conv_general(ones({1, 4, 3}), ones({2, 3, 3}), options), ErrorCode::InvalidArgument,
               "stride of 0");
}

}  // namespace
}  // namespace pippin::mx
