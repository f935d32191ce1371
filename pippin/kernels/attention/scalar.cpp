// The reference: plain softmax in two passes, sums in double.
#include <cmath>
#include <limits>

#include "pippin/base/float16.h"
#include "pippin/kernels/attention/attention.h"

namespace pippin::kernels {
namespace {

float to_float(float value) {
  return value;
}
using pippin::to_float;

template <typename Cache>
void attention_scalar(const AttentionArgs& a, int64_t head, int64_t row) {
  const int64_t kv_head = head / (a.heads / a.kv_heads);
  const float* q = a.q + head * a.q_head_stride + row * a.q_row_stride;
  const Cache* k = static_cast<const Cache*>(a.k) + kv_head * a.k_head_stride;
  const Cache* v = static_cast<const Cache*>(a.v) + kv_head * a.v_head_stride;
  const float* mask =
      a.mask == nullptr ? nullptr : a.mask + head * a.mask_head_stride + row * a.mask_row_stride;
  float* out = a.out + head * a.out_head_stride + row * a.out_row_stride;

  const auto excluded = [&](int64_t key) {
    return mask != nullptr && mask[key] == -std::numeric_limits<float>::infinity();
  };
  const auto score = [&](int64_t key) {
    double sum = 0;
    for (int64_t i = 0; i < a.head_dim; ++i) {
      sum += double{q[i]} * double{to_float(k[key * a.k_row_stride + i])};
    }
    sum *= double{a.scale};
    return mask == nullptr ? sum : sum + double{mask[key]};
  };

  double max = -std::numeric_limits<double>::infinity();
  for (int64_t key = 0; key < a.keys; ++key) {
    if (!excluded(key)) max = std::fmax(max, score(key));
  }
  double total = 0;
  for (int64_t i = 0; i < a.value_dim; ++i) out[i] = 0;
  for (int64_t key = 0; key < a.keys; ++key) {
    if (excluded(key)) continue;
    const double weight = std::exp(score(key) - max);
    total += weight;
    for (int64_t i = 0; i < a.value_dim; ++i) {
      out[i] += static_cast<float>(weight * double{to_float(v[key * a.v_row_stride + i])});
    }
  }
  for (int64_t i = 0; i < a.value_dim; ++i) out[i] = static_cast<float>(double{out[i]} / total);
}

template <typename Cache>
void attention_scalar(const AttentionArgs& args, const AttentionShare& share) {
  for (int64_t head = share.head_begin; head < share.head_end; ++head) {
    for (int64_t row = share.row_begin; row < share.row_end; ++row) {
      attention_scalar<Cache>(args, head, row);
    }
  }
}

}  // namespace

void attention_f32_scalar(const AttentionArgs& args, const AttentionShare& share, float*) noexcept {
  attention_scalar<float>(args, share);
}
void attention_f16_scalar(const AttentionArgs& args, const AttentionShare& share, float*) noexcept {
  attention_scalar<float16>(args, share);
}

}  // namespace pippin::kernels
