#include "pippin/mx/export/compile.h"

#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

TEST(Compile, CallsAFunctionOnceForEachShape) {
  int calls = 0;
  const Function f = compile([&calls](const std::vector<array>& in) {
    ++calls;
    const std::vector<array> parts = quantize(in[0], 32, 4);
    return std::vector<array>{add(in[0], in[1]), in[1], ones({2}) * 3.0f,
                              dequantize(parts[0], parts[1], parts[2], 32, 4)};
  });
  for (int i = 0; i < 4; ++i) {
    const array x = normal_array({2, 32}, float32, static_cast<uint32_t>(i)), y = array(1.0f);
    const std::vector<array> out = f({x, y});
    expect_numbers(out[0], numbers(add(x, y)), 0, "add");
    EXPECT_TRUE(out[1].is_same(y));
    EXPECT_EQ(out[2].to_vector<float>(), std::vector<float>({3, 3}));
    const std::vector<array> parts = quantize(x, 32, 4);
    expect_numbers(out[3], numbers(dequantize(parts[0], parts[1], parts[2], 32, 4)), 0, "parts");
  }
  EXPECT_EQ(calls, 1);
  f({normal_array({3, 32}, float32, 1), array(1.0f)});
  f({normal_array({3, 32}, float16, 1), array(1.0f)});
  EXPECT_EQ(calls, 3);
  enable_compile(false);
  f({normal_array({3, 32}, float32, 1), array(1.0f)});
  EXPECT_EQ(calls, 4);
  enable_compile(true);
}

TEST(Compile, Nests) {
  const Function inner =
      compile([](const std::vector<array>& in) { return std::vector<array>{in[0] * in[0]}; });
  const Function outer = compile([&](const std::vector<array>& in) {
    return std::vector<array>{inner({in[0] + 1.0f})[0] - 1.0f};
  });
  EXPECT_EQ(outer({array(2.0f)})[0].item<float>(), 8);
  EXPECT_EQ(outer({array(3.0f)})[0].item<float>(), 15);
}

TEST(Compile, RefusesToLookAtPlaceholders) {
  const Function f = compile(
      [](const std::vector<array>& in) { return std::vector<array>{in[0] * in[0].item<float>()}; });
  EXPECT_ERROR(f({array(2.0f)}), ErrorCode::InvalidArgument, "[eval]");
  const array x = Trace::placeholder(float32, {2});
  EXPECT_ERROR(Trace({x}, {x + Trace::placeholder(float32, {2})}), ErrorCode::InvalidArgument,
               "[compile]");
  EXPECT_ERROR(Trace({x}, {x + 1.0f})({ones({3})}), ErrorCode::InvalidArgument, "[compile]");
}

}  // namespace
}  // namespace pippin::mx
