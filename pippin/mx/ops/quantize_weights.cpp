#include "pippin/mx/ops/quantize_weights.h"

#include <algorithm>
#include <cmath>

#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"

namespace pippin::mx {
namespace {

struct Group {
  float scale, bias;
};

Group group_of(const float* x, int64_t count, int bits) {
  const auto levels = static_cast<float>((1 << bits) - 1);
  float low = x[0], high = x[0];
  for (int64_t i = 1; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  const bool from_low = std::fabs(low) > std::fabs(high);
  float scale = std::max((high - low) / levels, 1e-7f);
  if (!from_low) scale = -scale;
  const float edge = from_low ? low : high;
  const float zero = std::nearbyint(edge / scale);  // the code of 0, with the opposite sign
  if (zero == 0) return {scale, 0};
  return {edge / zero, edge};
}

class QuantizeWeights final : public Primitive {
 public:
  QuantizeWeights(int group_size, int bits) : group_size_(group_size), bits_(bits) {}
  std::string_view name() const noexcept override { return "quantize"; }
  void eval(Node& out) const override {
    const Ref<Node> w = row_major(out.inputs[0]);
    Node &codes = *(*out.parts)[0], &scales = *(*out.parts)[1], &biases = *(*out.parts)[2];
    codes.allocate();
    scales.allocate();
    biases.allocate();
    const int64_t groups = w->size / group_size_;
    const auto item = static_cast<int64_t>(size_of(w->dtype));
    const int64_t code_bytes = group_size_ * bits_ / 8;
    parallel(groups, w->size * 4, [&](int64_t begin, int64_t end) {
      std::vector<float> x(static_cast<size_t>(group_size_));
      for (int64_t g = begin; g < end; ++g) {
        convert(w->data + g * group_size_ * item, w->dtype, 1,
                reinterpret_cast<std::byte*>(x.data()), float32, 1, group_size_);
        const Group group = group_of(x.data(), group_size_, bits_);
        pack(x.data(), group, reinterpret_cast<uint8_t*>(codes.data) + g * code_bytes);
        convert(reinterpret_cast<const std::byte*>(&group.scale), float32, 1,
                scales.data + g * item, scales.dtype, 1, 1);
        convert(reinterpret_cast<const std::byte*>(&group.bias), float32, 1, biases.data + g * item,
                biases.dtype, 1, 1);
      }
    });
  }

 private:
  void pack(const float* x, const Group& group, uint8_t* to) const {
    const auto most = static_cast<float>((1 << bits_) - 1);
    uint64_t held = 0;
    int held_bits = 0;
    for (int i = 0; i < group_size_; ++i) {
      const float level = std::nearbyint((x[i] - group.bias) / group.scale);
      const float clipped = level > 0 ? std::min(level, most) : 0;  // NaN becomes 0
      held |= static_cast<uint64_t>(clipped) << held_bits;
      for (held_bits += bits_; held_bits >= 8; held_bits -= 8) {
        *to++ = static_cast<uint8_t>(held);
        held >>= 8;
      }
    }
  }

  int group_size_, bits_;
};

}  // namespace

std::vector<array> quantize_weights(const array& w, int group_size, int bits) {
  Shape codes = w.shape(), scales = w.shape();
  codes.back() = codes.back() * bits / 32;
  scales.back() /= group_size;
  const Output outputs[] = {{uint32, codes}, {w.dtype(), scales}, {w.dtype(), scales}};
  return make_several(new_primitive<QuantizeWeights>(group_size, bits), outputs, {&w, 1});
}

}  // namespace pippin::mx
